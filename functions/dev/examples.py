"""Pure: events made to order: the same arguments give the same event, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from cloudevents.core.v1.event import CloudEvent

from functions.dev import catalogue
from functions.webapp import contract, envelope
from functions.webapp.contract import Cause, Change, Key, Notice, ObjectRef
from functions.webapp.errors import WebAppError
from functions.webapp.resources import DEFAULT_GROUP, OWNED, Resource, webapp

DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""When made events were seen, unless told otherwise."""

_CLUSTER = "local"


class BadSetting(WebAppError):
    """A `--set` that cannot be carried out; the message shows it and says what would be right."""

    error_type = "bad_setting"


@dataclass(frozen=True, slots=True)
class Order:
    """Which event is wanted.

    `uid` is the WebApp's; without it the event names the WebApp by name alone, and so fits whichever is there.
    """

    what: str
    name: str
    namespace: str
    group: str = DEFAULT_GROUP
    uid: str = ""
    time: datetime = DAY


def make(order: Order, settings: Iterable[str] = ()) -> CloudEvent:
    """The event. Each setting is `PATH=VALUE`: below `data.` it changes the payload, else an attribute.

    A value takes the place of a text as it stands, of anything else as JSON where it is JSON; `null` removes. What an
    attribute repeats of the payload (id, subject, sequence, …) follows the payload. Raises UnknownName, BadSetting, or
    MalformedEvent where a setting broke the contract.
    """
    resource, change = catalogue.find(order.what, order.group)
    pairs = [_pair(setting) for setting in settings]
    payload = {"data": json.loads(contract.data(_notice(order, resource, change), None, []))}
    for path, value in pairs:
        if path[0] == "data":
            _assign(payload, path, value)
    data = payload.get("data")
    found = contract.attributes(
        _told(_notice(order, resource, change), data), group=order.group, cluster=_CLUSTER, time=order.time
    )
    for path, value in pairs:
        if path[0] != "data":
            _assign(found, path, value)
    event = envelope.from_json({**found, "data": data})
    contract.parse(event, webapp(order.group), OWNED)
    return event


def _notice(order: Order, resource: Resource, change: Change) -> Notice:
    is_webapp = resource == webapp(order.group)
    made = str(uuid5(NAMESPACE_URL, resource.path(order.namespace, order.name)))
    ref = ObjectRef(resource, order.namespace, order.name, (order.uid or made) if is_webapp else made, "1")
    cause = Cause.SYNC if change is Change.SYNC else Cause.WATCH
    return Notice(Key(order.namespace, order.name, order.uid), ref, change, cause)


def _told(notice: Notice, data: Any) -> Notice:
    """The notice that would have this payload."""
    match data:
        case {
            "webapp": {"namespace": str(namespace), "name": str(name), **key},
            "object": {"namespace": str(home), "name": str(called), "uid": str(uid), "resourceVersion": str(version)},
        }:
            ref = ObjectRef(notice.object.resource, home, called, uid, version)
            return replace(notice, webapp=Key(namespace, name, str(key.get("uid") or "")), object=ref)
    return notice


def _pair(setting: str) -> tuple[list[str], str]:
    path, equals, value = setting.partition("=")
    steps = path.split(".")
    if not equals or not all(steps):
        raise BadSetting(f"--set {setting!r}: is not PATH=VALUE, such as data.object.resourceVersion=7")
    return steps, value


def _assign(document: dict[str, Any], path: list[str], text: str) -> None:
    """Set the value at the end of the path, making objects on the way; list entries go by their index."""
    place: Any = document
    for step in path[:-1]:
        if isinstance(place, dict):
            place = place.setdefault(step, {})
        elif isinstance(place, list) and step.isdecimal() and int(step) < len(place):
            place = place[int(step)]
        else:
            raise BadSetting(f"--set {'.'.join(path)}={text}: there is no {step!r} to go into")
    last: Any = path[-1]
    if isinstance(place, list) and last.isdecimal() and int(last) < len(place):
        last = int(last)
    elif not isinstance(place, dict):
        raise BadSetting(f"--set {'.'.join(path)}={text}: {last!r} is not a field of an object or an index of a list")
    before = place.get(last) if isinstance(place, dict) else place[last]
    value = _value(text, keep_text=isinstance(before, str))
    if value is None:
        del place[last]
    else:
        place[last] = value


def _value(text: str, *, keep_text: bool) -> Any:
    if text == "null":
        return None
    if keep_text:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
