"""Pure: what is wrong with a file of events, told with line and field.

An *error* is what makes a function refuse the event. A *warning* is an event that would be taken, though the bridge
would have sent it otherwise, or whose snapshot holds a WebApp that the schema refuses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import yaml
from cloudevents.core.v1.event import CloudEvent

from functions.dev.recording import Entry, read
from functions.webapp import apiserversource, contract, model
from functions.webapp.contract import MAX_EVENT_BYTES, Notice, ObjectRef, WebAppEvent
from functions.webapp.errors import InvalidSpec, MalformedEvent, WebAppError
from functions.webapp.resources import OWNED, webapp

_STEP = re.compile(r"[^.\[\]]+")
_OPTIONAL = frozenset({"time", "datacontenttype"})
_OBJECT = ("namespace", "name", "uid", "resourceVersion")


class Level(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to mend; `line` counts from 1 in the file."""

    line: int
    level: Level
    field: str
    message: str


def findings(entry: Entry, group: str) -> list[Finding]:
    """All findings about one event, those of the contract before those of the schema; an error ends the search."""
    return [
        Finding(entry.line + _offset(entry.text, field), level, field, message)
        for level, field, message in _judge(entry, group)
    ]


Verdict = tuple[Level, str, str]


def _judge(entry: Entry, group: str) -> Iterator[Verdict]:
    resource = webapp(group)
    try:
        event = read(entry)
        if event.get_type().startswith(apiserversource.PREFIX):
            apiserversource.parse(event, resource, OWNED)
            return
        meant = contract.parse(event, resource, OWNED)
    except MalformedEvent as error:
        yield Level.ERROR, error.field, str(error).removeprefix(f"{error.field}: ")
        return
    except WebAppError as error:
        yield Level.ERROR, "type", str(error)
        return
    size = len(json.dumps(json.loads(entry.text), separators=(",", ":"), ensure_ascii=False).encode())
    if size > MAX_EVENT_BYTES:
        yield Level.WARNING, "data", f"the event has {size} bytes; intermediaries need not forward more than 65536"
    yield from _consistency(event, meant, group)
    yield from _schema(meant)


def _consistency(event: CloudEvent, meant: WebAppEvent, group: str) -> Iterator[Verdict]:
    """Every attribute that repeats something of the payload says the same."""
    told = contract.payload(event).get("object")
    if not isinstance(told, dict) or not all(isinstance(told.get(field), str) for field in _OBJECT):
        yield Level.WARNING, "data.object", f"must name the object that changed by {', '.join(_OBJECT)}"
        return
    ref = ObjectRef(meant.changed, *(told[field] for field in _OBJECT))
    notice = Notice(meant.webapp, ref, meant.change, meant.cause)
    cluster = meant.source.removeprefix(f"//{group}/clusters/").partition("/")[0]
    wanted = contract.attributes(notice, group=group, cluster=cluster, time=datetime(1, 1, 1, tzinfo=UTC))
    for part, value in (("apiVersion", ref.resource.api_version), ("kind", ref.resource.kind)):
        if told.get(part) != value:
            yield Level.WARNING, f"data.object.{part}", f"{told.get(part)!r} does not fit the type: expected {value!r}"
    found = event.get_attributes()
    for name, value in wanted.items():
        if name in _OPTIONAL or found.get(name) == value:
            continue
        if name == "id" and str(found["id"]).startswith(f"{value}."):  # announced again, at that tick
            continue
        if name in found:
            yield Level.WARNING, name, f"{found[name]!r} does not fit the data: expected {value!r}"
        else:
            yield Level.WARNING, name, f"is missing: expected {value!r}"


def _schema(meant: WebAppEvent) -> Iterator[Verdict]:
    if meant.snapshot is None:
        return
    try:
        model.parse(meant.snapshot.webapp)
    except InvalidSpec as error:
        field = f"data.snapshot.webapp.{error.field}"
        yield Level.WARNING, field, str(error).removeprefix(f"{error.field}: ")


def _offset(text: str, field: str) -> int:
    """On which line of the text, from 0, the field stands, or what would hold it; JSON is YAML, which knows lines."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return 0
    line = 0
    for step in _STEP.findall(field):
        found = _inside(node, step)
        if found is None:
            break
        line, node = found
    return line


def _inside(node: Any, step: str) -> tuple[int, Any] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key.start_mark.line, value) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
        value = node.value[int(step)]
        return value.start_mark.line, value
    return None
