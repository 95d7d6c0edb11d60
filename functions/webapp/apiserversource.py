"""Pure: events of Knative's ApiServerSource, read as events of our contract: the function also works behind it.

Source of the rules: knative/eventing `pkg/adapter/apiserver/events/events.go`. They carry no snapshot, a random id,
and in Reference mode neither uid nor owner; the live read of the function tells the rest.
"""

from __future__ import annotations

from cloudevents.core.v1.event import CloudEvent

from functions.webapp.contract import Cause, Change, Key, WebAppEvent, payload, read_key
from functions.webapp.errors import UnknownEvent
from functions.webapp.resources import RawObject, Resource, controller, meta_text, metadata

PREFIX = "dev.knative.apiserver."
_CHANGES = {"add": Change.ADDED, "update": Change.MODIFIED, "delete": Change.DELETED}


def parse(event: CloudEvent, resource: Resource, owned: tuple[Resource, ...]) -> WebAppEvent | None:
    """Read `dev.knative.apiserver.{ref,resource}.{add,update,delete}`; None where no WebApp is concerned."""
    mode, _, change = event.get_type().removeprefix(PREFIX).partition(".")
    if mode not in {"ref", "resource"} or change not in _CHANGES:
        raise UnknownEvent(f"type {event.get_type()!r} is not one that ApiServerSource sends")
    body = payload(event)
    kinds = {(each.api_version, each.kind): each for each in (resource, *owned)}
    changed = kinds.get((str(body.get("apiVersion")), str(body.get("kind"))))
    if changed is None:
        return None
    key = _by_reference(body) if mode == "ref" else _by_object(body, changed, resource)
    if key is None:
        return None
    return WebAppEvent(
        id=event.get_id(),
        type=event.get_type(),
        source=event.get_source(),
        subject=event.get_subject() or "",
        webapp=key,
        changed=changed,
        change=_CHANGES[change],
        cause=Cause.WATCH,
        coalesced=1,
        snapshot=None,
        time=event.get_time(),
    )


def _by_reference(body: RawObject) -> Key:
    return read_key(
        {"namespace": body.get("namespace"), "name": body.get("name")}, "data"
    )  # a child has its WebApp's name


def _by_object(body: RawObject, changed: Resource, resource: Resource) -> Key | None:
    key = read_key({part: metadata(body).get(part) for part in ("namespace", "name")}, "data.metadata")
    if changed == resource:
        return Key(key.namespace, key.name, meta_text(body, "uid"))
    owner = controller(body)
    if owner is None or owner.get("kind") != resource.kind or owner.get("apiVersion") != resource.api_version:
        return None
    return read_key(
        {"namespace": key.namespace, "name": owner.get("name"), "uid": owner.get("uid")},
        "data.metadata.ownerReferences",
    )
