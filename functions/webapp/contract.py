"""Pure: the event contract, version 1: what the bridge says and what a function may believe.

| attribute | value |
|---|---|
| type | `<reversed group>.<kind>.<change>.v1`, e.g. `com.example.platform.webapp.modified.v1` |
| source | `//<group>/clusters/<cluster>/<group of the object>/<plural>`; cluster = uid of namespace kube-system |
| subject | API path of the changed object |
| id | `<object uid>.<resourceVersion>.<change>`, plus `.<tick>` when the same state is announced again on purpose |
| partitionkey, sequence | the WebApp's key; the resourceVersion padded to 20 digits (it sorts: KEP-5504) |

An event is a hint. Its snapshot can prove that nothing needs doing; it can never authorise a write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from cloudevents.core.v1.event import CloudEvent

from functions.webapp.errors import MalformedEvent, UnknownEvent
from functions.webapp.resources import RawObject, Resource, meta_text

MAX_EVENT_BYTES = 64 * 1024
"""What every CloudEvents intermediary must forward (CloudEvents 1.0.2, Size Limits)."""

_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MOST_COALESCED = 1_000_000
_encode = json.JSONEncoder(separators=(",", ":")).encode

PROBLEM = "application/problem+json"
"""Media type of a function's refusals (RFC 9457): no proxy on the way answers so."""

PROBLEM_FINISHED = "finished"
"""Member of a refusal: the finished event (see `finished`) of a run that failed, for who preferred it."""

PREFER_FINISHED = "finished"
"""Preference of a sender that wants it; a broker, which prefers a `reply` alone, would not survive so long a body."""

ANSWER_WROTE = "webapp-wrote"
"""Answer header: `<uid>/<resourceVersion>` of each write of this run, by spaces; their echoes need no event."""

ANSWER_REQUEUE_AFTER = "webapp-requeue-after"
"""Answer header: seconds after which a blocked WebApp should be tried again."""

ANSWER_OUTCOME = "webapp-outcome"
"""Answer header: the outcome of the run, for logs and metrics of the sender."""


class Change(StrEnum):
    """What happened to the object, as far as the sender knows."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    SYNC = "sync"


class Cause(StrEnum):
    """Why the event was sent."""

    WATCH = "watch"
    RELIST = "relist"
    SYNC = "sync"
    RESYNC = "resync"
    REQUEUE = "requeue"


@dataclass(frozen=True, slots=True)
class Key:
    """Which WebApp an event is about; `uid` is "" where the sender could not know it."""

    namespace: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """The object that changed."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    resource_version: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The WebApp and what it owns, pruned, as the sender last saw them. Nothing in it is ever written anywhere."""

    webapp: RawObject
    owned: tuple[RawObject, ...]

    def child(self, resource: Resource) -> RawObject | None:
        """The owned object of that kind under the WebApp's own name, if the sender saw one."""
        return next((obj for obj in self.owned if obj.get("kind") == resource.kind and self._is_named(obj)), None)

    def _is_named(self, obj: RawObject) -> bool:
        return all(meta_text(obj, each) == meta_text(self.webapp, each) for each in ("namespace", "name"))


@dataclass(frozen=True, slots=True)
class Notice:
    """One event before it has an envelope: everything that the sender knows about the change."""

    webapp: Key
    object: ObjectRef
    change: Change
    cause: Cause
    coalesced: int = 1
    tick: str = ""

    @property
    def id(self) -> str:
        """The same for the same change after a retry, a relist or a restart."""
        parts = [self.object.uid, self.object.resource_version, self.change, self.tick]
        return ".".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class WebAppEvent:
    """What a received event means to a function."""

    id: str
    type: str
    source: str
    subject: str
    webapp: Key
    changed: Resource
    change: Change
    cause: Cause
    coalesced: int
    snapshot: Snapshot | None
    time: datetime | None


def event_type(group: str, kind: str, change: Change) -> str:
    """`com.example.platform.webapp.modified.v1` for group platform.example.com."""
    return f"{prefix(group)}.{kind.lower()}.{change}.v1"


def prefix(group: str) -> str:
    """The group in reverse domain order, as event types begin."""
    return ".".join(reversed(group.split(".")))


def source(group: str, cluster: str, resource: Resource) -> str:
    """Where events about one kind in one cluster come from; stable over restarts and API server addresses."""
    return f"//{group}/clusters/{cluster}/{resource.group or 'core'}/{resource.plural}"


def attributes(notice: Notice, *, group: str, cluster: str, time: datetime) -> dict[str, Any]:
    """All CloudEvents attributes of a notice; every value stays inside unreserved ASCII, so nothing needs escaping."""
    ref, key = notice.object, notice.webapp
    found = {
        "specversion": "1.0",
        "id": notice.id,
        "type": event_type(group, ref.resource.kind, notice.change),
        "source": source(group, cluster, ref.resource),
        "subject": ref.resource.path(ref.namespace, ref.name),
        "time": time,
        "datacontenttype": "application/json",
        "partitionkey": str(key),
        "kind": ref.resource.kind,
        "apiversion": ref.resource.api_version,
        "name": ref.name,
        "namespace": ref.namespace,
        "webapp": key.name,
        "webappuid": key.uid,
    }
    if ref.resource_version.isdigit() and len(ref.resource_version) <= 20:
        found["sequence"] = ref.resource_version.zfill(20)
    return {name: value for name, value in found.items() if value != ""}


def data(notice: Notice, webapp: bytes | None, owned: list[bytes]) -> bytes:
    """The JSON payload around objects that are JSON already; the snapshot is left out where it would not fit."""
    ref, key = notice.object, notice.webapp
    head = _encode(
        {
            "webapp": {"namespace": key.namespace, "name": key.name, "uid": key.uid},
            "object": {
                "apiVersion": ref.resource.api_version,
                "kind": ref.resource.kind,
                "namespace": ref.namespace,
                "name": ref.name,
                "uid": ref.uid,
                "resourceVersion": ref.resource_version,
            },
            "reason": notice.cause,
            "coalesced": notice.coalesced,
        }
    ).encode()
    envelope = 2048  # attributes, generously
    if webapp is None or len(head) + len(webapp) + sum(map(len, owned)) + envelope > MAX_EVENT_BYTES:
        return head
    return b'%b,"snapshot":{"webapp":%b,"owned":[%b]}}' % (head[:-1], webapp, b",".join(owned))


def known_types(resource: Resource, owned: tuple[Resource, ...]) -> Iterator[tuple[str, tuple[Resource, Change]]]:
    """Every event type of this contract, and what it says."""
    for each in (resource, *owned):
        for change in Change:
            yield event_type(resource.group, each.kind, change), (each, change)


def payload(event: CloudEvent) -> Mapping[str, Any]:
    """The event's data, which must be a JSON object."""
    body = event.get_data()
    if not isinstance(body, Mapping):
        raise MalformedEvent("data", "must be a JSON object, sent with Content-Type application/json")
    return body


def parse(event: CloudEvent, resource: Resource, owned: tuple[Resource, ...]) -> WebAppEvent:
    """Read an event of this contract (see `apiserversource` for Knative's own).

    Raises MalformedEvent where a field is missing or has the wrong shape, UnknownEvent where the type is foreign.
    """
    body = payload(event)
    kind = event.get_type()
    meaning = next((said for known, said in known_types(resource, owned) if known == kind), None)
    if meaning is None:
        raise UnknownEvent(f"type {kind!r} is not handled here; expected {prefix(resource.group)}.<kind>.<change>.v1")
    snapshot = body.get("snapshot")
    return WebAppEvent(
        id=event.get_id(),
        type=kind,
        source=event.get_source(),
        subject=event.get_subject() or "",
        webapp=read_key(body.get("webapp"), "data.webapp"),
        changed=meaning[0],
        change=meaning[1],
        cause=_cause(body.get("reason", Cause.WATCH)),
        coalesced=_coalesced(body.get("coalesced")),
        snapshot=None if snapshot is None else _snapshot(snapshot, resource),
        time=event.get_time(),
    )


def _cause(found: object) -> Cause:
    try:
        return Cause(str(found))
    except ValueError:
        raise MalformedEvent("data.reason", f"{str(found)[:80]!r} is none of {', '.join(Cause)}") from None


def _coalesced(found: object) -> int:
    return found if type(found) is int and 1 <= found <= _MOST_COALESCED else 1


def read_key(found: object, field: str) -> Key:
    """A WebApp's key out of JSON; `field` is where it stands, for the MalformedEvent."""
    if not isinstance(found, Mapping):
        raise MalformedEvent(field, "must be an object with namespace and name")
    for part in ("namespace", "name"):
        text = found.get(part)
        if not (isinstance(text, str) and _NAME.fullmatch(text)):
            raise MalformedEvent(f"{field}.{part}", f"{str(text)[:80]!r} is not a name in Kubernetes (RFC 1123)")
    uid = found.get("uid", "")
    if not isinstance(uid, str) or len(uid) > 64:
        raise MalformedEvent(f"{field}.uid", "must be the uid of the WebApp, a short text")
    return Key(found["namespace"], found["name"], uid)


def _is_version(text: str) -> bool:
    """Whether a write at that version is guarded: 0 means any version, and words are no version (KEP-5504)."""
    return text.isascii() and text.isdigit() and len(text) <= 20 and 0 < int(text) < 2**64


def _snapshot(found: object, resource: Resource) -> Snapshot:
    if not isinstance(found, Mapping):
        raise MalformedEvent("data.snapshot", "must be an object with webapp and owned")
    webapp, owned = found.get("webapp"), found.get("owned", [])
    if not isinstance(owned, list):
        raise MalformedEvent("data.snapshot.owned", "must be a list of objects")
    for field, obj in [("webapp", webapp), *((f"owned[{i}]", obj) for i, obj in enumerate(owned))]:
        if not isinstance(obj, Mapping) or not all(meta_text(obj, each) for each in ("name", "uid")):
            raise MalformedEvent(f"data.snapshot.{field}.metadata", "must have name and uid")
        if not _is_version(version := meta_text(obj, "resourceVersion")):
            cure = "must be a whole number above 0, as a text"
            raise MalformedEvent(f"data.snapshot.{field}.metadata.resourceVersion", f"{version[:80]!r} {cure}")
        if not isinstance(obj.get("kind"), str):
            raise MalformedEvent(f"data.snapshot.{field}.kind", "must be the kind of the object")
    assert isinstance(webapp, Mapping)  # noqa: S101 - checked by the loop
    if webapp["kind"] != resource.kind:
        raise MalformedEvent("data.snapshot.webapp.kind", f"{webapp['kind']!r} is not {resource.kind}")
    return Snapshot(webapp, tuple(owned))
