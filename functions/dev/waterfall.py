"""Pure: a story of traces as one HTML page that needs nothing else: a tree, bars on a time line, details on a click.

The page gets its data as JSON; `waterfall.html` beside this module draws it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from itertools import pairwise
from typing import Any

from functions.dev import spantext, tracetree
from functions.dev.otlp import Attributes, Happening, Span
from functions.dev.tracetree import Node
from functions.runtime.names import Attr

IDLE_SHARE = 0.05
"""A time in which nothing happens is drawn no wider than this share of the time in which something does."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Where moments are drawn: nanoseconds to milliseconds from the left, with long idle times cut short.

    `cuts` holds (drawn milliseconds, milliseconds left out there).
    """

    zero: int
    cuts: tuple[tuple[float, float], ...]
    length: float

    @classmethod
    def of(cls, spans: Iterable[Span]) -> Scale:
        """The scale on which all of the spans can be told apart."""
        busy = _merged((span.start, max(span.end, span.start)) for span in spans)
        zero = busy[0][0]
        worked = sum(end - start for start, end in busy) / 1e6
        widest = max(worked * IDLE_SHARE, 0.001)
        cuts, left_out = [], 0.0
        for (_, end), (start, _) in pairwise(busy):
            if (start - end) / 1e6 > widest:
                cuts.append(((end - zero) / 1e6 - left_out + widest / 2, (start - end) / 1e6 - widest))
                left_out += cuts[-1][1]
        return cls(zero, tuple(cuts), max((busy[-1][1] - zero) / 1e6 - left_out, 0.001))

    def __call__(self, moment: int) -> float:
        """Drawn milliseconds of a moment."""
        drawn = (moment - self.zero) / 1e6
        for at, left_out in self.cuts:
            if drawn > at:
                drawn = max(at, drawn - left_out)
        return drawn


def page(title: str, spans: list[Span]) -> str:
    """The page of one story; `spans` must not be empty."""
    scale = Scale.of(spans)
    roots = tracetree.grow(spans)
    began = datetime.fromtimestamp(roots[0].span.start / 1e9, UTC).isoformat(timespec="milliseconds")
    traces = {span.trace_id for span in spans}
    data = {
        "title": title,
        "told": f"{began} · {len(spans)} spans in {len(traces)} trace{'s' * (len(traces) > 1)}",
        "length": scale.length,
        "first": scale(roots[0].span.start),
        "cuts": scale.cuts,
        "rows": [_row(node, depth, scale, roots[0].span.start) for root in roots for depth, node in root.walk()],
    }
    template = files("functions.dev").joinpath("waterfall.html").read_text(encoding="utf-8")
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return template.replace("{{data}}", text)


def _row(node: Node, depth: int, scale: Scale, first: int) -> dict[str, Any]:
    span = node.span
    conflicts = any(spantext.is_conflict(each) for each in span.happenings)
    return {
        "depth": depth,
        "title": spantext.title(span),
        "detail": spantext.detail(span),
        "name": span.name,
        "via": node.via,
        "service": span.service,
        "kind": span.kind,
        "failed": span.failed,
        "conflict": conflicts,
        "from": scale(span.start),
        "to": scale(span.end),
        "at": spantext.time(span.start - first),
        "took": spantext.time(span.end - span.start),
        "message": span.message,
        "trace": span.trace_id,
        "span": span.span_id,
        "attributes": _told(span.attributes),
        "happenings": [_happening(each, scale, first) for each in span.happenings],
        "links": [
            [str(link.attributes.get(Attr.LINK, "link")), link.trace_id, link not in node.lost] for link in span.links
        ],
    }


def _happening(each: Happening, scale: Scale, first: int) -> dict[str, Any]:
    name, detail = spantext.happening(each)
    return {
        "name": name,
        "detail": detail,
        "conflict": spantext.is_conflict(each),
        "x": scale(each.time),
        "at": spantext.time(each.time - first),
        "attributes": _told(each.attributes),
    }


def _told(attributes: Attributes) -> list[list[str]]:
    return [[key, str(value)] for key, value in sorted(attributes.items())]


def _merged(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
