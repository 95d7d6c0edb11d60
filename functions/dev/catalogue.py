"""Pure: every kind of event that a function understands, by a short name and a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from functions.webapp import apiserversource, finished
from functions.webapp.contract import Change, event_type
from functions.webapp.errors import WebAppError
from functions.webapp.resources import OWNED, Resource, webapp

_WEBAPP = {
    Change.ADDED: "A WebApp was created, or is seen for the first time.",
    Change.MODIFIED: "The spec or the metadata of a WebApp changed; a change of its status alone is no event.",
    Change.DELETED: "A WebApp is gone; what it owned is the garbage collector's.",
    Change.SYNC: "A WebApp is announced as it is: at the start, at a resync, or because the function asked for it.",
}
_CHILD = {
    Change.ADDED: "The {} of a WebApp was created, or is seen for the first time.",
    Change.MODIFIED: "The {} of a WebApp changed, by anyone and in anything but heartbeats.",
    Change.DELETED: "The {} of a WebApp is gone, or no longer its own.",
    Change.SYNC: "The {} of a WebApp is announced as it is; understood, though the bridge never sends it.",
}
_KNATIVE = {"add": "saw a new object", "update": "saw a change", "delete": "saw an object go"}
_MODES = {"ref": "named it", "resource": "sent it whole"}


class UnknownName(WebAppError):
    """No event has that name; the message lists those that exist."""

    error_type = "unknown_name"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of event: `name` as the command line calls it, `type` as the event does."""

    name: str
    type: str
    sentence: str
    resource: Resource | None = None
    change: Change | None = None


def kinds(group: str) -> list[Kind]:
    """All of them for one API group: those of the contract first; only they have a resource and a change."""
    primary = webapp(group)
    ours = [
        Kind(
            f"{resource.kind.lower()}.{change}",
            event_type(group, resource.kind, change),
            (_WEBAPP if resource == primary else _CHILD)[change].format(resource.kind),
            resource,
            change,
        )
        for resource in (primary, *OWNED)
        for change in Change
    ]
    answer = Kind(
        "reconcile.finished",
        finished.event_type(group),
        "What one reconcile did: the function's answer to `Prefer: reply`, meant for the history.",
    )
    knative = [
        Kind(
            f"{mode}.{change}",
            f"{apiserversource.PREFIX}{mode}.{change}",
            f"Knative's ApiServerSource {seen} and {told}.",
        )
        for mode, told in _MODES.items()
        for change, seen in _KNATIVE.items()
    ]
    return [*ours, answer, *knative]


def find(name: str, group: str) -> tuple[Resource, Change]:
    """What an event of the contract is about, by its short name or its type. Raises UnknownName."""
    known = [kind for kind in kinds(group) if kind.resource is not None]
    for kind in known:
        if name in {kind.name, kind.type} and kind.resource is not None and kind.change is not None:
            return kind.resource, kind.change
    raise UnknownName(
        f"EVENT: {name!r} is not an event that can be made; use one of {', '.join(k.name for k in known)}"
    )
