"""Results as tables, for a terminal, for a pipe, and for the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.bench.coldstart import ColdStart
from tests.bench.faults import Cell, Rate
from tests.bench.figures import Phase, Round, mid, ratio
from tests.bench.usage import Memory

_OURS, _GO = "ours", "controller-runtime"


@dataclass(frozen=True)
class Table:
    """`key` names its place on the page."""

    key: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """A GitHub table, its columns lined up."""
        lines = [self.head, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.head))]
        padded = [
            "| " + " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + " |"
            for line in lines
        ]
        rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
        return "\n".join([padded[0], rule, *padded[1:]])


def alone(found: Round, cold: ColdStart) -> Table:
    """What `make bench` tells of ours."""
    create, edit = found.create, found.edit
    requests = ", ".join(f"{verb} {count:g}" for verb, count in create.requests.items())
    rows = [
        (f"{create.webapps} new WebApps converged", f"{create.seconds:.2f} s"),
        ("events per new WebApp", f"{create.events or 0:g}"),
        ("API calls per new WebApp", requests),
        ("create to status, p50 / p99", f"{create.latency.p50:.0f} / {create.latency.p99:.0f} ms"),
        ("single edit to status, p50 / p99", f"{edit.latency.p50:.1f} / {edit.latency.p99:.1f} ms"),
        ("API calls per edit", ", ".join(f"{verb} {count:g}" for verb, count in edit.requests.items())),
        *((f"CPU of the {role} per new WebApp", f"{spent:.2f} ms") for role, spent in create.cpu_ms.items()),
        *((f"{role}, idle, RSS / PSS", _memory(each)) for role, each in found.idle.items()),
        *((f"{role}, most under load, RSS / PSS", _memory(each)) for role, each in found.peak.items()),
        *(
            (f"bridge at rest with {size:,} WebApps, RSS / PSS", _memory(roles["bridge"]))
            for size, roles in found.rest.items()
        ),
        ("function, exec to ready", f"{cold.ready_ms:.0f} ms ({cold.cpu_ms:.0f} ms of CPU)"),
        ("function, fresh, RSS / PSS", _memory(cold.memory)),
        ("writes once converged", str(found.quiet_writes)),
        ("children that lag behind their status", str(create.stale_children + edit.stale_children)),
        ("CPU that others took while creating", f"{create.others_cpu_seconds:.1f} s"),
    ]
    return Table("alone", "The operator", ("measure", "figure"), tuple(rows))


def beside(rounds: Sequence[Round]) -> list[Table]:
    """What `make bench-peers` tells: times, requests and CPU, memory, ratios."""
    return [_times(rounds), _costs(rounds), _memories(rounds), _ratios(rounds)]


def faults(cells: dict[str, dict[str, list[Cell]]], rates: dict[str, Rate]) -> list[Table]:
    """Lost changes by fault and source, and the sources' latency without a fault."""
    sources = list(cells)
    rows = []
    for fault in cells[sources[0]]:
        row = [fault]
        for source in sources:
            found = cells[source][fault]
            lost = ", ".join(str(cell.lost) for cell in found)
            row += [f"{lost} of {found[0].changes}", _slowest(found)]
        rows.append(tuple(row))
    head = ("fault", *(text for source in sources for text in (f"{source}: lost", "slowest that came")))
    steady = tuple(
        (
            source,
            f"{rate.latency.p50:.1f} / {rate.latency.p99:.1f} / {rate.latency.most:.0f} ms",
            f"{rate.lost} of {rate.changes}",
            str(rate.posts),
            f"{rate.cpu_ms:.2f} ms",
            _memory(rate.memory),
        )
        for source, rate in rates.items()
    )
    columns = ("source", "change to POST p50 / p99 / most", "lost", "POSTs", "CPU per change", "RSS / PSS after")
    return [
        Table("faults", "Changes lost", head, tuple(rows)),
        Table("rate", "100 changes a second, no fault", columns, steady),
    ]


def _slowest(cells: list[Cell]) -> str:
    came = [cell.slowest_seconds for cell in cells if cell.lost < cell.changes]
    return f"{max(came):.1f} s" if came else "none came"


def _times(rounds: Sequence[Round]) -> Table:
    size = rounds[0].create.webapps
    head = (
        "operator",
        f"create {size:,}",
        "p50 / p99",
        f"new image on {size:,}",
        "p50 / p99",
        "single edit p50 / p99",
        "start to first WebApp",
    )
    rows = []
    for name, found in _grouped(rounds):
        creates, images = [each.create for each in found], [each.image for each in found]
        edits, ready = [each.edit for each in found], mid(each.ready_seconds for each in found)
        rows.append(
            (
                name,
                _seconds(creates),
                _latency(creates, 0),
                _seconds(images),
                _latency(images, 0),
                _latency(edits, 1),
                f"{ready:.2f} s",
            )
        )
    return Table("times", "Time (medians, in brackets least and most)", head, tuple(rows))


def _costs(rounds: Sequence[Round]) -> Table:
    head = ("operator", "requests per create", "per edit", "CPU per create", "CPU per new image", "writes at rest")
    rows = [
        (
            name,
            _requests([each.create for each in found]),
            _requests([each.edit for each in found]),
            _cpu([each.create for each in found]),
            _cpu([each.image for each in found]),
            f"{mid(each.quiet_writes for each in found):g}",
        )
        for name, found in _grouped(rounds)
    ]
    return Table("costs", "Requests and own CPU, per WebApp", head, tuple(rows))


def _memories(rounds: Sequence[Round]) -> Table:
    sizes = list(rounds[0].rest)
    head = ("operator", "idle", *(f"{size:,}" for size in sizes), *(f"{size:,}, restarted" for size in sizes), "most")
    rows = []
    for name, found in _grouped(rounds):
        for role in found[0].idle:
            states = [
                [each.idle[role] for each in found],
                *([each.rest[size][role] for each in found if size in each.rest] for size in sizes),
                *([each.restarted[size][role] for each in found if size in each.restarted] for size in sizes),
                [each.peak[role] for each in found],
            ]
            told = name if role == "operator" else f"{name}: {role}"
            rows.append((told, *(_memory(Memory(mid(m.rss for m in s), mid(m.pss for m in s))) for s in states)))
    return Table("memory", "Memory at rest by number of WebApps, RSS / PSS", head, tuple(rows))


def _ratios(rounds: Sequence[Round]) -> Table:
    groups = dict(_grouped(rounds))
    ours = groups.pop(_OURS)
    size = rounds[0].create.webapps
    aims = {f"create {size:,}, speed": "at least 1.0", "single edit, p50": "at most 1.3"}
    aims |= {f"at rest with {n:,}": "at most 0.67" if n <= 500 else "at most 0.50" for n in ours[0].rest}
    rows: dict[str, list[str]] = {key: [] for key in aims}
    for theirs in groups.values():
        speed = ratio(mid(each.create.seconds for each in theirs), mid(each.create.seconds for each in ours))
        edit = ratio(mid(each.edit.latency.p50 for each in ours), mid(each.edit.latency.p50 for each in theirs))
        rest = [ratio(_resting(ours, webapps), _resting(theirs, webapps)) for webapps in ours[0].rest]
        for key, figure in zip(rows, (speed, edit, *rest), strict=True):
            rows[key].append(f"{figure:.2f}")
    head = ("ours as a multiple of", *groups, f"aim beside {_GO}")
    return Table("ratios", "Ratios", head, tuple((key, *found, aims[key]) for key, found in rows.items()))


def _resting(rounds: list[Round], webapps: int) -> float:
    return mid(each.resting(webapps) for each in rounds if webapps in each.rest)


def _grouped(rounds: Iterable[Round]) -> list[tuple[str, list[Round]]]:
    groups: dict[str, list[Round]] = {}
    for each in rounds:
        groups.setdefault(each.contender, []).append(each)
    return list(groups.items())


def _seconds(phases: list[Phase]) -> str:
    values = sorted(each.seconds for each in phases)
    spread = f" ({values[0]:.2f} to {values[-1]:.2f})" if len(values) > 1 else ""
    return f"{mid(values):.2f} s{spread}"


def _latency(phases: list[Phase], digits: int) -> str:
    p50, p99 = mid(each.latency.p50 for each in phases), mid(each.latency.p99 for each in phases)
    return f"{p50:.{digits}f} / {p99:.{digits}f} ms"


def _requests(phases: list[Phase]) -> str:
    verbs = sorted({verb for each in phases for verb in each.requests})
    return ", ".join(f"{verb} {mid(each.requests.get(verb, 0.0) for each in phases):.2f}" for verb in verbs)


def _cpu(phases: list[Phase]) -> str:
    roles = {role: mid(each.cpu_ms[role] for each in phases) for role in phases[0].cpu_ms}
    told = f"{sum(roles.values()):.1f} ms"
    return told if len(roles) == 1 else f"{told} ({', '.join(f'{role} {ms:.1f}' for role, ms in roles.items())})"


def _memory(each: Memory) -> str:
    return f"{each.rss:.1f} / {each.pss:.1f} MiB"
