"""`python -m tests.bench`: measure ours; with --peers the twins beside it; with --source what faults make of events."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable

from functions.webapp.errors import WebAppError
from tests.bench import coldstart, page, rounds, tables
from tests.bench.contenders import GO, KOPF, OURS, Contender
from tests.bench.faults import Campaign, Cell, Rate, table
from tests.bench.figures import Round
from tests.bench.peers import programs
from tests.bench.rig import Rig
from tests.bench.rounds import Course
from tests.bench.sink import Sink
from tests.bench.sources import ADAPTER, BRIDGE, Source
from tests.bench.tables import Table
from tests.bench.usage import machine_seconds

console = Console()
progress = Console(stderr=True, highlight=False)


def main(
    *,
    peers: Annotated[bool, typer.Option(help="Measure a Go and a kopf twin beside ours.")] = False,
    source: Annotated[bool, typer.Option(help="Count the changes that faults make an event source lose.")] = False,
    repeat: Annotated[int, typer.Option(help="Rounds of each contender and each fault.")] = 3,
    size: Annotated[int, typer.Option(help="WebApps created in one burst; 200 alone and 500 beside peers.")] = 0,
    rest: Annotated[list[int] | None, typer.Option(help="WebApps to rest with; 500 and 2000 unless given.")] = None,
    controllers: Annotated[bool, typer.Option(help="Let Kubernetes' own controllers work meanwhile.")] = False,
    to_json: Annotated[Path | None, typer.Option("--json", help="Write every figure to this file.")] = None,
    write_page: Annotated[bool, typer.Option("--page", help="Rewrite the tables of docs/comparison.md.")] = False,
) -> None:
    """Print how fast the operator is, how many requests it makes, how much memory it holds, and what it loses."""
    begun, busy, load = time.monotonic(), machine_seconds(), os.getloadavg()[0]
    found: list[Table] = []
    raw: dict[str, Any] = {}
    burst = size or (500 if peers else 200)
    course = Course((burst, *(each for each in rest or (500, 2000) if each > burst)), controllers=controllers)
    if source:
        cells, rates = _sources([BRIDGE, ADAPTER] if peers else [BRIDGE], repeat)
        found += tables.faults(cells, rates)
        raw |= {
            "faults": {
                name: {key: list(map(asdict, each)) for key, each in row.items()} for name, row in cells.items()
            },
            "rates": {name: asdict(rate) for name, rate in rates.items()},
        }
    elif peers:
        results = _rounds([OURS, GO, KOPF], course, repeat)
        found += tables.beside(results)
        raw["rounds"] = list(map(asdict, results))
    else:
        (result,) = _rounds([OURS], course, 1)
        with Rig() as rig:
            cold = coldstart.measure(rig)
        found.append(tables.alone(result, cold))
        raw |= {"rounds": [asdict(result)], "cold_start": asdict(cold)}
    cores = os.cpu_count() or 1
    used = (machine_seconds() - busy) / (time.monotonic() - begun) / cores
    conditions = (
        f"Measured on {datetime.now(UTC):%Y-%m-%d}: {cores} cores, Python {platform.python_version()}, load average "
        f"{load:.1f} before; all processes together kept the cores {used:.0%} busy."
    )
    _show(found, conditions)
    if to_json:
        to_json.write_text(json.dumps({"conditions": conditions, **raw}, indent=1) + "\n", encoding="utf-8")
    if write_page:
        page.rewrite(page.PAGE, found, conditions)


def _rounds(contenders: list[Contender], course: Course, repeat: int) -> list[Round]:
    """Taking turns, and each turn another one first, so that what the machine does meanwhile, and what the one before
    has left it to do, falls on all; larger sizes in the first turn only."""
    if GO in contenders:
        programs.go_twin()
    if KOPF in contenders:
        programs.kopf()
    found = []
    for turn in range(repeat):
        first = turn % len(contenders)
        for contender in contenders[first:] + contenders[:first]:
            progress.print(f"{contender.name}: round {turn + 1} of {repeat}")
            os.sync()
            found.append(rounds.run(contender, course if turn == 0 else replace(course, sizes=course.sizes[:1])))
    return found


def _sources(sources: list[Source], repeat: int) -> tuple[dict[str, dict[str, list[Cell]]], dict[str, Rate]]:
    if ADAPTER in sources:
        programs.adapter()
    cells: dict[str, dict[str, list[Cell]]] = {}
    rates: dict[str, Rate] = {}
    for source in sources:
        with Rig() as rig, Sink() as sink:
            campaign = Campaign(rig, sink, source)
            campaign.begin()
            progress.print(f"{source.name}: 100 changes a second")
            rates[source.name] = campaign.steady()
            cells[source.name] = {fault.name: [] for fault in table()}
            for turn in range(repeat):
                for fault in table():
                    progress.print(f"{source.name}: {fault.name}, {turn + 1} of {repeat}")
                    cells[source.name][fault.name].append(campaign.suffer(fault))
    return cells, rates


def _show(found: list[Table], conditions: str) -> None:
    for each in found:
        if console.is_terminal:
            shown = RichTable(*each.head, title=each.title, title_justify="left")
            for row in each.rows:
                shown.add_row(*row)
            console.print(shown)
        else:
            typer.echo(f"{each.title}\n{each.markdown()}\n")
    typer.echo(conditions)


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(main)
    try:
        app()
    except (TimeoutError, WebAppError) as error:
        sys.exit(f"bench: {error}")
