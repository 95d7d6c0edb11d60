"""Pure: an event as the curl command that sends it, so that the page and the tool never say different things."""

from __future__ import annotations

import shlex

from cloudevents.core.v1.event import CloudEvent

from functions.webapp import envelope
from functions.webapp.errors import WebAppError


class NotPrintable(WebAppError):
    """The event's data is bytes, which a command line cannot carry."""

    error_type = "not_printable"


def command(event: CloudEvent, url: str, *, binary: bool = False, report: bool = False, dry_run: bool = False) -> str:
    """One command for a POSIX shell, over several lines; `report` asks for what was done, `dry_run` for what would be.

    `--data-binary`, since `-d` drops line ends; a Content-Type of our own, since `--json` would send application/json,
    which names no mode of CloudEvents. Raises NotPrintable for binary mode with data that is bytes.
    """
    if binary and isinstance(event.get_data(), bytes):
        raise NotPrintable("data: is bytes, which no command line can carry; use --structured, where they are base64")
    headers, body = envelope.encode_binary(event) if binary else envelope.encode_structured(event)
    if report:
        headers["prefer"] = "return=representation"
    lines = [
        f"curl -sS {shlex.quote(url + ('?dryRun=All' if dry_run else ''))}",
        *(f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()),
        f"--data-binary {shlex.quote(body.decode())}",
    ]
    return " \\\n  ".join(lines)
