"""The story as an SVG: provider calls, and requests served and refused, second by second."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 960, 64, 24
TOP, PANEL, GAP = 104, 132, 64
INK, FAINT, SHADE = "#1f2328", "#8b949e", "#eceff3"
NAIVE, OURS, SERVED, REFUSED = "#c2410c", "#1d4ed8", "#7fb08d", "#cf222e"
Points = Sequence[float]


def draw(naive: Any, ours: Any) -> str:
    """The picture of two tellings of one outage (`story.Telling`)."""
    shape = naive.shape
    seconds = int(shape.before + shape.outage + shape.after)
    canvas = _Canvas(seconds, shape.before, naive.resumed)
    canvas.heading(
        f"An identity provider stands still for {shape.outage:.0f} seconds",
        f"{shape.known} users with valid tokens ask a kube-apiserver every 10 s; "
        f"{shape.newcomers} newcomers join a third into the outage",
    )
    calls = [_counts(naive.calls, seconds), _counts(ours.calls, seconds)]
    canvas.panel("Calls to the provider, each second", max(max(each) for each in calls))
    canvas.line(calls[0], NAIVE, f"naive webhook: {naive.calls_in_outage} in the outage", 225)
    canvas.line(calls[1], OURS, f"this webhook: {ours.calls_in_outage} in the outage", 0)
    fates = [_fates(telling, seconds) for telling in (naive, ours)]
    totals = sorted(sum(second) for fate in fates for second in zip(*fate, strict=True))
    most = 1.5 * totals[int(len(totals) * 0.95)]  # a burst of pent-up requests would press everything else flat
    for name, telling, fate, color in (("the naive", naive, fates[0], NAIVE), ("this", ours, fates[1], OURS)):
        canvas.panel(f"Requests behind {name} webhook, each second", most)
        canvas.bars(*fate, color, telling.known_served)
    return canvas.finish()


def _counts(moments: Iterable[float], seconds: int) -> list[int]:
    found = [0] * seconds
    for moment in moments:
        if 0 <= moment < seconds:
            found[int(moment)] += 1
    return found


def _fates(telling: Any, seconds: int) -> tuple[list[int], list[int]]:
    """Requests served and refused, by the second in which they were answered."""
    ended = [(each.at + each.seconds, each.served) for each in telling.requests]
    return tuple(_counts([at for at, served in ended if served is good], seconds) for good in (True, False))  # type: ignore[return-value]


class _Canvas:
    def __init__(self, seconds: int, begin: float, end: float) -> None:
        self._seconds, self._outage = seconds, (begin, end)
        self._parts: list[str] = []
        self._y = TOP - GAP - PANEL
        self._most = 1.0

    def heading(self, title: str, subtitle: str) -> None:
        self._text(LEFT, 34, title, size=20, weight=600)
        self._text(LEFT, 58, subtitle, size=13, color=FAINT)

    def panel(self, title: str, most: float) -> None:
        """Begin the next panel; its values go up to `most`."""
        self._y += PANEL + GAP
        self._most = max(most, 1) * 1.1
        begin, end = (self._x(at) for at in self._outage)
        self._rect(begin, self._y, end - begin, PANEL, SHADE)
        self._text((begin + end) / 2, self._y + 14, "provider stopped", size=11, color=FAINT, anchor="middle")
        self._text(LEFT, self._y - 10, title, size=13, weight=600)
        for value in (0, self._round(most / 2), self._round(most)):
            self._rect(LEFT, self._height(value), WIDTH - LEFT - RIGHT, 0.5, FAINT)
            self._text(LEFT - 8, self._height(value) + 4, str(value), size=11, color=FAINT, anchor="end")
        for at in range(0, self._seconds, 15 if self._seconds > 60 else 5):
            self._text(self._x(at), self._y + PANEL + 16, f"{at} s", size=11, color=FAINT, anchor="middle")

    def line(self, values: Points, color: str, label: str, end: float) -> None:
        """One value for each second, and its name above the panel, ending `end` from the right."""
        path = " ".join(f"{self._x(at + 0.5):.1f},{self._height(value):.1f}" for at, value in enumerate(values))
        self._parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.8"/>')
        self._text(WIDTH - RIGHT - end, self._y - 10, label, size=12, color=color, anchor="end", weight=600)

    def bars(self, served: Points, refused: Points, color: str, share: float) -> None:
        """Served from below, refused on top of it; what is too high is cut off and its number written beside it."""
        width, cut = self._x(1) - self._x(0) - 1, -9
        for at, (all_good, all_bad) in enumerate(zip(served, refused, strict=True)):
            good = min(all_good, self._most)
            bad = min(all_bad, self._most - good)
            if all_good + all_bad > self._most and at > cut + 3:
                cut = at
                self._text(self._x(at) + width + 2, self._y + 10, str(all_good + all_bad), size=11, color=FAINT)
            self._rect(self._x(at), self._height(good), width, self._height(0) - self._height(good), SERVED)
            self._rect(self._x(at), self._height(good + bad), width, self._height(0) - self._height(bad), REFUSED)
        end = WIDTH - RIGHT
        self._text(
            end - 104,
            self._y - 10,
            f"{share:.0%} of known users served throughout the outage",
            size=12,
            color=color,
            anchor="end",
            weight=600,
        )
        self._text(end, self._y - 10, "refused in red", size=12, color=REFUSED, anchor="end")

    def finish(self) -> str:
        height = self._y + PANEL + 36
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" role="img">\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(self._parts) + "\n</svg>\n"
        )

    def _x(self, at: float) -> float:
        return LEFT + at * (WIDTH - LEFT - RIGHT) / self._seconds

    def _height(self, value: float) -> float:
        return self._y + PANEL * (1 - value / self._most)

    @staticmethod
    def _round(value: float) -> int:
        step = 10 if value >= 20 else 1
        return max(1, round(value / step) * step)

    def _rect(self, x: float, y: float, width: float, height: float, color: str) -> None:
        if height > 0:
            self._parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}"/>'
            )

    def _text(
        self, x: float, y: float, text: str, *, size: int, color: str = INK, anchor: str = "start", weight: int = 400
    ) -> None:
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(text)}</text>'
        )
