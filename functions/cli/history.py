"""`webapp history`: which reconciles ran for a WebApp, why, what they changed, and where their traces are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.output import Format, Output, console, document, table
from functions.webapp.errors import WebAppError
from functions.webapp.resources import DEFAULT_GROUP

if TYPE_CHECKING:
    from datetime import datetime

    from functions.aggregation.kind import Column
    from functions.dev.runs import Run

DEFAULT_LIMIT = 20
_NUMBERS = frozenset({"integer", "number"})
_ALWAYS = "Trace"


class BadKey(WebAppError):
    """The WebApp is not named as NAMESPACE/NAME."""

    error_type = "bad_key"


class NoDriver(WebAppError):
    """What reads databases is not installed."""

    error_type = "no_driver"


def history(
    *,
    webapp: Annotated[str, typer.Argument(metavar="NAMESPACE/NAME", help="The WebApp; it may be gone by now.")],
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="So many runs.")] = DEFAULT_LIMIT,
    wide: Annotated[bool, typer.Option("--wide", help="All columns, as `kubectl get -o wide` has them.")] = False,
    database: Annotated[
        str,
        typer.Option(
            "--database", envvar="HISTORY_DATABASE_URL", metavar="URL", help="Read this instead of asking the cluster."
        ),
    ] = "",
    group: Annotated[
        str, typer.Option("--group", envvar="HISTORY_API_GROUP", metavar="GROUP", help="API group of the history.")
    ] = f"history.{DEFAULT_GROUP}",
    output: Output = Format.TEXT,
) -> None:
    """Show which reconciles ran for a WebApp, why, what they changed and how they ended, the newest first.

    `webapp trace --id TRACE` opens one. It is what `kubectl get reconciles` shows; where the cluster does not serve
    that, `--database` reads the history where it is kept.
    """
    namespace, slash, name = webapp.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise BadKey(f"{webapp!r}: a WebApp is named as NAMESPACE/NAME, such as default/web")
    found = _stored(database, group, namespace, name, limit) if database else _served(group, namespace, name, limit)
    if output is Format.JSON:
        document({"reconciles": found})
    else:
        _print(found, webapp, group, wide=wide)


def _served(group: str, namespace: str, name: str, limit: int) -> list[Run]:
    from functions.dev import runs

    return runs.newest(group, namespace, name, limit)


def _stored(url: str, group: str, namespace: str, name: str, limit: int) -> list[Run]:
    try:
        from functions.dev import storedruns
    except ModuleNotFoundError as error:
        raise NoDriver(f"--database needs {error.name}: install webapp-operator[cli,history]") from error
    return storedruns.newest(url, group, namespace, name, limit)


def _print(found: Sequence[Run], webapp: str, group: str, *, wide: bool) -> None:
    from datetime import UTC, datetime

    from functions.history.apiserver.kind import kind

    if not found:
        typer.echo(f"no reconcile of {webapp} is in the history", err=True)
        return
    columns = [column for column in kind(group).columns if wide or column.priority == 0 or column.name == _ALWAYS]
    now = datetime.now(UTC)
    headings = {column.name: column.name.upper() for column in columns}
    rows = [[_text(column, run, now) for column in columns] for run in found]
    right = [headings[column.name] for column in columns if column.type in _NUMBERS]
    table(console(), list(headings.values()), rows, right=right)


def _text(column: Column, run: Run, now: datetime) -> str:
    cell = column.cell(run, now)
    return "" if cell is None else str(cell)
