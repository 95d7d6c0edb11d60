"""`python -m tests.bench.tracing`: what tracing costs, and that a collector in trouble costs no more.

The same course is run without tracing, with every trace recorded, with one in a hundred, and towards a collector that
refuses connections or hangs; round by round in turn, so that what else the machine does falls on all alike.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from functions.dev.jaeger import Jaeger
from functions.dev.processes import LOOPBACK, free_port
from tests.bench import rounds
from tests.bench.contenders import OURS, Contender, Running
from tests.bench.figures import Round, mid
from tests.bench.pods import start_bridge, start_function
from tests.bench.rig import Rig
from tests.bench.rounds import Course
from tests.bench.tables import Table

ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"


@contextmanager
def _off() -> Iterator[dict[str, str]]:
    yield {ENDPOINT: ""}


@contextmanager
def _on(share: str = "1.0", number: signal.Signals | None = None) -> Iterator[dict[str, str]]:
    with Jaeger() as jaeger:
        if number:
            jaeger.process.signal(number)
        yield {**jaeger.settings, "OTEL_TRACES_SAMPLER_ARG": share}
        jaeger.process.signal(signal.SIGCONT)


@contextmanager
def _refusing() -> Iterator[dict[str, str]]:
    yield {ENDPOINT: f"http://{LOOPBACK}:{free_port()}/v1/traces"}


MODES: Mapping[str, Callable[[], Any]] = {
    "off": _off,
    "on": _on,
    "1 %": lambda: _on("0.01"),
    "on, collector refuses": _refusing,
    "on, collector hangs": lambda: _on(number=signal.SIGSTOP),
}
"""Each gives the environment of bridge and function while it is entered."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The median round of one mode, and what it takes beyond the rounds without tracing."""

    mode: str
    seconds: float
    slower: float
    edit_ms: float
    edit_slower: float
    cpu_ms: float


def measure(repeat: int, size: int) -> list[Cost]:
    """Run every mode `repeat` times with a burst of `size` WebApps and 20 single edits."""
    course = Course((size,), quiet_seconds=3.0)
    found: dict[str, list[Round]] = {mode: [] for mode in MODES}
    for _ in range(repeat):
        for mode, entered in MODES.items():
            with entered() as settings:
                found[mode].append(rounds.run(_contender(mode, settings), course))
    plain, plain_edit = _create(found["off"]), _edit(found["off"])
    return [
        Cost(
            mode,
            _create(each),
            _create(each) / plain - 1,
            _edit(each),
            _edit(each) / plain_edit - 1,
            mid(sum(one.create.cpu_ms.values()) for one in each),
        )
        for mode, each in found.items()
    ]


def table(costs: list[Cost], size: int) -> Table:
    """The costs for people."""
    head = ("tracing", f"create {size}", "", "single edit, p50", "", "own CPU per new WebApp")
    rows = [
        (
            each.mode,
            f"{each.seconds:.2f} s",
            f"{each.slower:+.0%}",
            f"{each.edit_ms:.1f} ms",
            f"{each.edit_slower:+.0%}",
            f"{each.cpu_ms:.2f} ms",
        )
        for each in costs
    ]
    return Table("tracing", "What tracing costs", head, tuple(rows))


def main(
    *,
    repeat: Annotated[int, typer.Option(help="Rounds of each mode.")] = 3,
    size: Annotated[int, typer.Option(help="WebApps created in one burst.")] = 200,
    to_json: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
) -> None:
    """Print what tracing costs."""
    costs = measure(repeat, size)
    Console().print(table(costs, size).markdown(), soft_wrap=True)
    if to_json:
        to_json.write_text(json.dumps([asdict(each) for each in costs], indent=1), encoding="utf-8")


def _contender(mode: str, settings: Mapping[str, str]) -> Contender:
    def launch(rig: Rig) -> Running:
        function, sink = start_function(rig, settings)
        bridge, _ = start_bridge(rig, sink, settings)
        return Running({bridge.name: bridge.pid, function.name: function.pid})

    return Contender(mode, OURS.accounts, OURS.resident, launch)


def _create(found: list[Round]) -> float:
    return mid(each.create.seconds for each in found)


def _edit(found: list[Round]) -> float:
    return mid(each.edit.latency.p50 for each in found)


if __name__ == "__main__":
    typer.run(main)
