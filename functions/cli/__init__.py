"""The command line `webapp`: arguments and printing; what the commands do stands in `functions.dev`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from functions.cli.certs import certs
from functions.cli.events import curl, lint, names, new
from functions.cli.history import history
from functions.cli.local import cluster, crd, demo, dev
from functions.cli.trace import trace
from functions.cli.traffic import record, replay, resend
from functions.dev.signals import interruptible
from functions.webapp.errors import WebAppError

app = typer.Typer(
    name="webapp",
    help="Try the serverless WebApp operator on this machine; make, check, record and replay its events.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
ON_THIS_MACHINE = "On this machine"
EVENTS = "Events"
IN_THE_CLUSTER = "In a cluster"
app.command(rich_help_panel=ON_THIS_MACHINE)(demo)
app.command(rich_help_panel=ON_THIS_MACHINE)(dev)
app.command(rich_help_panel=ON_THIS_MACHINE)(cluster)
app.command(rich_help_panel=ON_THIS_MACHINE)(crd)
app.command(rich_help_panel=ON_THIS_MACHINE)(trace)
app.command("list", rich_help_panel=EVENTS)(names)
app.command(rich_help_panel=EVENTS)(new)
app.command(rich_help_panel=EVENTS)(lint)
app.command(rich_help_panel=EVENTS)(curl)
app.command(rich_help_panel=EVENTS)(record)
app.command(rich_help_panel=EVENTS)(replay)
app.command(rich_help_panel=EVENTS)(resend)
app.command(rich_help_panel=IN_THE_CLUSTER)(history)
app.command(rich_help_panel=IN_THE_CLUSTER)(certs)


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it by position
    if wanted:
        from importlib.metadata import version

        typer.echo(f"webapp {version('webapp-operator')}")
        raise typer.Exit


@app.callback()
def _root(
    *, version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False
) -> None:
    """Try the serverless WebApp operator on this machine; make, check, record and replay its events."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 says that all of it held, 1 that something did not, 2 that it was called wrongly."""
    try:
        with interruptible():
            app(args=arguments)
    except WebAppError as error:
        typer.echo(f"webapp: {error}", err=True)
        return 1
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0
