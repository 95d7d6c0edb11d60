"""`webapp list`, `new`, `lint`, `curl`: single events, without a cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from functions.cli.output import Format, Group, Output, Source, console, counted, document, table, text_of
from functions.webapp.resources import DEFAULT_GROUP


def names(*, group: Group = DEFAULT_GROUP, output: Output = Format.TEXT) -> None:
    """Name every event that a function understands, with a sentence for each."""
    from functions.dev.catalogue import kinds

    found = kinds(group)
    if output is Format.JSON:
        document([{"name": kind.name, "type": kind.type, "sentence": kind.sentence} for kind in found])
    else:
        table(console(), ("NAME", "TYPE", "MEANING"), [(kind.name, kind.type, kind.sentence) for kind in found])


def new(
    *,
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="Its name, such as webapp.modified: see `webapp list`.")
    ],
    name: Annotated[str, typer.Option("--name", help="Name of the WebApp.")],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the WebApp.")] = "default",
    uid: Annotated[str, typer.Option("--uid", help="Uid of the WebApp; without it, whichever has the name.")] = "",
    time: Annotated[str, typer.Option("--time", help="When it was seen: RFC 3339, or `now`.")] = "2026-01-01T00:00:00Z",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Change a field, such as data.object.resourceVersion=7."),
    ] = None,
    group: Group = DEFAULT_GROUP,
    output: Output = Format.TEXT,
) -> None:
    """Make an event: a CloudEvent in JSON (structured mode), the same for the same arguments.

    What attributes repeat of the data (id, subject, sequence and so on) follows the data. `--output json` prints it
    on one line, as a recording holds it.
    """
    from datetime import UTC, datetime

    from functions.dev import examples, recording
    from functions.webapp import envelope
    from functions.webapp.errors import MalformedEvent
    from functions.webapp.timestamp import Timestamp

    try:
        moment = datetime.now(UTC) if time == "now" else Timestamp.parse(time)
    except ValueError as error:
        raise MalformedEvent("--time", str(error)) from None
    order = examples.Order(event, name, namespace, group, uid, moment)
    made = examples.make(order, settings or ())
    if output is Format.JSON:
        typer.echo(recording.line(made), nl=False)
    else:
        document(envelope.to_json(made))


def lint(
    *,
    file: Source,
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings fail too.")] = False,
    group: Group = DEFAULT_GROUP,
    output: Output = Format.TEXT,
) -> None:
    """Check events against the contract and the schema; each finding has its line and field.

    Errors are what a function refuses; warnings are what the bridge would have sent otherwise.
    """
    from functions.dev import lint as judge
    from functions.dev.recording import entries

    text, called = text_of(file)
    checked = list(entries(text, called))
    found = [finding for entry in checked for finding in judge.findings(entry, group)]
    if output is Format.JSON:
        told = [{"line": f.line, "level": f.level, "field": f.field, "message": f.message} for f in found]
        document({"file": called, "events": len(checked), "findings": told})
    else:
        for finding in found:
            typer.echo(f"{called}:{finding.line}: {finding.level}: {finding.field}: {finding.message}")
        errors = sum(finding.level is judge.Level.ERROR for finding in found)
        counts = {"event": len(checked), "error": errors, "warning": len(found) - errors}
        typer.echo(", ".join(counted(count, noun) for noun, count in counts.items()), err=True)
    if not checked or any(strict or finding.level is judge.Level.ERROR for finding in found):
        raise typer.Exit(1)


def curl(
    *,
    file: Source,
    to: Annotated[
        str, typer.Option("--to", metavar="URL", help="Where the function listens.")
    ] = "http://127.0.0.1:8080/",
    binary: Annotated[
        bool, typer.Option("--binary/--structured", help="Attributes as headers, or one JSON document.")
    ] = False,
    report: Annotated[bool, typer.Option("--report", help="Ask for a report of what was done.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask what would be done; write nothing.")] = False,
    output: Output = Format.TEXT,
) -> None:
    """Print the curl command that sends each event, ready to paste into a shell."""
    from functions.dev import curl as printer
    from functions.dev.recording import events
    from functions.dev.sender import checked

    url = checked(to)
    commands = [
        printer.command(each.event, url, binary=binary, report=report, dry_run=dry_run)
        for each in events(*text_of(file))
    ]
    if output is Format.JSON:
        document({"commands": commands})
    else:
        typer.echo("\n".join(commands))
