"""`webapp record`, `replay`, `resend`: streams of events."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.output import Format, Output, Source, console, counted, document, table, text_of, writable

if TYPE_CHECKING:
    from cloudevents.core.v1.event import CloudEvent

    from functions.dev.answer import Answer
    from functions.dev.replay import Row

To = Annotated[str, typer.Option("--to", metavar="URL", help="Where the function listens.")]


def record(
    *,
    to: To,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Events are appended here, one a line.")],
    listen: Annotated[int, typer.Option("--listen", metavar="PORT", min=0, max=65535, help="0 takes a free one.")] = 0,
    output: Output = Format.TEXT,
) -> None:
    """Listen on a loopback port, pass every event on to the real sink, and keep a copy, until Ctrl-C.

    Point the bridge's K_SINK at the printed URL. The answers pass unchanged.
    """
    from functions.dev import recording, signals
    from functions.dev.tap import Tap

    def keep(event: CloudEvent, answer: Answer) -> None:
        written = recording.line(event)
        kept.write(written)
        if output is Format.JSON:
            typer.echo(written, nl=False)
        else:
            typer.echo(f"{event.get_type()} {event.get_subject()} -> {answer.status} {answer.outcome} {answer.ms} ms")

    with writable(out, "--out").open("ab", buffering=0) as kept, Tap(to, keep, port=listen) as tap:
        typer.echo(f"listening on {tap.url}, passing on to {to}, recording to {out}", err=True)
        signals.await_end()


def replay(
    *,
    file: Source,
    to: To,
    filters: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="NAME=VALUE", help="type=… or webapp=NAMESPACE/NAME; * is any text."),
    ] = None,
    twice: Annotated[bool, typer.Option("--twice", help="Send all again; then nothing may be written.")] = False,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Send them in any order.")] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Makes --shuffle repeatable.")] = None,
    speed: Annotated[str, typer.Option("--speed", help="1x as recorded, 10x, or max.")] = "max",
    expect: Annotated[
        Path | None, typer.Option("--expect", metavar="FILE", help="An earlier --output json; differences fail.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask what would be done; write nothing.")] = False,
    output: Output = Format.TEXT,
) -> None:
    """Send recorded events again and tell what came of each; fails if one fails or differs.

    `--twice` is the proof that events may come more than once: the second pass must write nothing.
    """
    import random

    from functions.dev import recording
    from functions.dev.replay import Course, chosen, differences, expectation, factor, problems
    from functions.dev.sender import Sender

    events = chosen(recording.events(*text_of(file)), filters or ())
    wanted = expectation(*text_of(str(expect))) if expect else None
    mix = random.Random(seed) if shuffle else None  # noqa: S311 - an order, no secret
    course = Course(2 if twice else 1, mix, factor(speed))
    with Sender(to) as sender:
        rows = list(course.run(events, lambda event: sender.send(event, dry_run=dry_run)))
    _conclude(rows, problems(rows) + (differences(rows, wanted) if wanted is not None else []), output)


def resend(
    *,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Which of them; all if none.")] = None,
    parked: Annotated[str, typer.Option("--parked", metavar="FILE", help="The bridge's file of parked events.")],
    to: To,
    output: Output = Format.TEXT,
) -> None:
    """Send parked events again, without the error they were parked with; the file stays as it is."""
    from functions.dev import recording
    from functions.dev.recording import Recorded
    from functions.dev.replay import Course, problems
    from functions.dev.sender import Sender

    found = recording.selected(recording.events(*text_of(parked)), ids or ())
    with Sender(to) as sender:
        rows = list(Course().run([Recorded(e.line, recording.unparked(e.event)) for e in found], sender.send))
    _conclude(rows, problems(rows), output)


def _conclude(rows: list[Row], wrong: list[str], output: Format) -> None:
    if output is Format.JSON:
        document({"events": [row.told() for row in rows], "totals": _totals(rows), "problems": wrong})
    else:
        _print(rows)
        for each in wrong:
            typer.echo(f"webapp: {each}", err=True)
    if wrong or not rows:
        raise typer.Exit(1)


def _totals(rows: Iterable[Row]) -> dict[str, int]:
    answers = [row.answer for row in rows]
    return {
        "events": len(answers),
        "failed": sum(not answer.ok for answer in answers),
        "api_calls": sum(len(answer.calls) for answer in answers),
        "writes": sum(answer.writes for answer in answers),
    }


def _print(rows: list[Row]) -> None:
    from functions.dev.recording import short

    target = console()
    twice = any(row.turn > 1 for row in rows)
    numbers = ("API CALLS", "WRITES", "MS")
    headings = [*(["PASS"] if twice else []), "CHANGE", "SUBJECT", "OUTCOME", "PLAN", *numbers, "TRACE"]
    cells = []
    for row in rows:
        event, answer = row.recorded.event, row.answer
        outcome = answer.outcome if answer.ok else f"{answer.status or 'no answer'}"
        counts = (str(len(answer.calls)), str(answer.writes), f"{answer.ms:.1f}")
        change, subject = short(event)
        found = [change, subject, outcome, ", ".join(answer.plan) or "nothing", *counts, answer.trace_id]
        cells.append([*([str(row.turn)] if twice else []), *found])
    table(target, headings, cells, right=numbers)
    totals = _totals(rows)
    calls = f"{counted(totals['api_calls'], 'API call')}, {totals['writes']} of them writes"
    typer.echo(f"{counted(totals['events'], 'event')}, {totals['failed']} failed, {calls}")
