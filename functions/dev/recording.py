"""Pure: files of events: CloudEvents in their JSON format one after another, as JSON Lines or written out wide."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cloudevents.core.v1.event import CloudEvent

from functions.webapp import envelope, strict_json
from functions.webapp.errors import MalformedEvent, WebAppError

_SPACE = re.compile(r"[ \t\r\n]*")
PARKING = ("knativeerrordest", "knativeerrorcode", "knativeerrordata")
"""What a dead letter carries besides its event (Knative Eventing, delivery failure attributes)."""


class RecordingError(WebAppError):
    """A file is not one of events; the message names the file, the line and the field."""

    error_type = "recording"


@dataclass(frozen=True, slots=True)
class Entry:
    """One JSON text of a file, and the line (from 1) on which it begins."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """One event of a file, and the line (from 1) on which it begins."""

    line: int
    event: CloudEvent


def entries(text: str, name: str) -> Iterator[Entry]:
    """The JSON texts of a file; `name` is how errors call it. Raises RecordingError where one is not JSON."""
    decoder = json.JSONDecoder()
    line, position = 1, 0
    while (start := _space(text, position)) < len(text):
        line += text.count("\n", position, start)
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            where = error.lineno if isinstance(error, json.JSONDecodeError) else line
            raise RecordingError(f"{name}:{where}: is not JSON: {error}") from None
        yield Entry(line, text[start:end])
        line += text.count("\n", start, end)
        position = end


def events(text: str, name: str) -> list[Recorded]:
    """The events of a file, in its order. Raises RecordingError, also where there are none."""
    found = [Recorded(entry.line, _event(entry, name)) for entry in entries(text, name)]
    if not found:
        raise RecordingError(f"{name}: holds no event; expected CloudEvents in JSON, one a line")
    return found


def read(entry: Entry) -> CloudEvent:
    """The event of one entry. Raises MalformedEvent."""
    try:
        return envelope.from_json(strict_json.loads(entry.text.encode("utf-8", "surrogatepass")))
    except MalformedEvent:
        raise
    except ValueError as error:
        raise MalformedEvent("event", str(error)) from None


def line(event: CloudEvent) -> bytes:
    """The event as one line of JSON, its end included."""
    return strict_json.dumps(envelope.to_json(event)) + b"\n"


def unparked(event: CloudEvent) -> CloudEvent:
    """The event as it was before it was parked: the same id, without the error."""
    members = {name: value for name, value in envelope.to_json(event).items() if name not in PARKING}
    return envelope.from_json(members)


def parking(event: CloudEvent) -> dict[str, str]:
    """Why an event was parked: the error attributes that it has."""
    found = ((name, event.get_extension(name)) for name in PARKING)
    return {name: str(value) for name, value in found if value is not None}


def selected(recorded: Iterable[Recorded], ids: Iterable[str]) -> list[Recorded]:
    """Those with one of the ids, or all where none is named. Raises RecordingError for an id that is not there."""
    kept, wanted = list(recorded), list(ids)
    known = {each.event.get_id() for each in kept}
    if missing := [each for each in wanted if each not in known]:
        raise RecordingError(f"ID: {missing[0]!r} is not in the file; it holds {', '.join(sorted(known))}")
    return [each for each in kept if not wanted or each.event.get_id() in wanted]


def short(event: CloudEvent) -> tuple[str, str]:
    """What happened to what, for a table: `webapp.modified` and `shop/webapps/web`."""
    change = ".".join(event.get_type().removesuffix(".v1").split(".")[-2:])
    subject = event.get_subject() or ""
    return change, subject.partition("/namespaces/")[2] or subject


def _event(entry: Entry, name: str) -> CloudEvent:
    try:
        return read(entry)
    except MalformedEvent as error:
        raise RecordingError(f"{name}:{entry.line}: {error}") from None


def _space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position
