"""How commands print: tables for people, one JSON document for scripts, errors on the standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from functions.webapp.errors import WebAppError

if TYPE_CHECKING:
    from rich.console import Console

PIPE_COLUMNS = 240
"""The width that tables may have where no terminal sets one."""


class Format(StrEnum):
    """What `--output` may be."""

    TEXT = "text"
    JSON = "json"


Output = Annotated[Format, typer.Option("--output", "-o", help="text for people, json for scripts.")]


def _group(text: str) -> str:
    from functions.webapp.fields import SUBDOMAIN, matches

    if "." not in text or not matches(SUBDOMAIN, text):
        raise typer.BadParameter(f"{text!r} is not an API group: a DNS name with a dot, such as platform.example.com")
    return text


Group = Annotated[
    str,
    typer.Option(
        "--group", "-g", envvar="WEBAPP_API_GROUP", help="API group of the WebApps.", metavar="GROUP", callback=_group
    ),
]
Source = Annotated[str, typer.Argument(metavar="FILE", help="Events in JSON, one after another; - is standard input.")]


class NoFile(WebAppError):
    """A file cannot be read or written; the message names it."""

    error_type = "no_file"


def console(*, stderr: bool = False) -> Console:
    """Colours and a frame where a terminal is there, plain and wide text where not."""
    from rich.console import Console

    found = Console(stderr=stderr, highlight=False, soft_wrap=True)
    if not found.is_terminal:
        found = Console(stderr=stderr, highlight=False, soft_wrap=True, width=PIPE_COLUMNS, color_system=None)
    return found


def table(
    target: Console, headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[str] = ()
) -> None:
    """Print a table; the columns named in `right` hold numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    found = Table(box=SIMPLE_HEAD if target.is_terminal else None, pad_edge=False)
    for heading in headings:
        found.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    for row in rows:
        found.add_row(*(Text(cell) for cell in row))
    target.print(found, soft_wrap=False)


def counted(count: int, noun: str) -> str:
    """`1 write`, `2 writes`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def document(value: Any) -> None:
    """Print one JSON document."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def writable(path: Path, option: str) -> Path:
    """The path of a file that can be appended to; it is there afterwards. Raises NoFile, which names the option."""
    try:
        path.open("ab").close()
    except OSError as error:
        raise NoFile(f"{option} {str(path)!r}: {error.strerror}; name a file that can be written") from None
    return path


def text_of(source: str) -> tuple[str, str]:
    """The text of a file, or of standard input for `-`, and what errors call it. Raises NoFile."""
    try:
        if source == "-":
            return sys.stdin.buffer.read().decode("utf-8"), "<stdin>"
        return Path(source).read_bytes().decode("utf-8"), source
    except OSError as error:
        raise NoFile(f"FILE {source!r}: {error.strerror}; name a file of events, or - for standard input") from None
    except UnicodeDecodeError as error:
        raise NoFile(f"FILE {source!r}: is not UTF-8 at byte {error.start}; events are JSON in UTF-8") from None
