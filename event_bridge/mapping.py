"""Pure: which news an observation is, and for which WebApp. Nothing else decides that something needs no event."""

from __future__ import annotations

from enum import StrEnum

from event_bridge.cache import Cache, Entry
from event_bridge.pruning import Pruned
from functions.webapp.contract import Cause, Change, Notice, ObjectRef


class Decision(StrEnum):
    """What became of one observation; the label of the counter of watch events."""

    QUEUED = "queued"
    SAME_VERSION = "same_version"
    UNCHANGED = "unchanged"
    STATUS = "status_only"
    FOREIGN = "foreign"
    ORPHAN = "orphan"
    REPLACED = "replaced"
    ECHO = "echo"
    LISTED = "listed"
    STANDBY = "standby"


Mapped = tuple[Decision, tuple[Notice, ...]]


def observed(new: Pruned, cache: Cache, cause: Cause) -> Mapped:
    """An object that exists, against what the cache still holds of it."""
    old = cache.get(new.resource, new.uid)
    is_webapp = new.resource == cache.primary
    if not is_webapp and not new.owner:
        return (Decision.FOREIGN, ()) if old is None else gone(reference(new), old, cache, cause)
    if old is None:
        return _news(cache, [Notice(new.key, reference(new), Change.ADDED, cause)])
    if old.version == new.version:
        return Decision.SAME_VERSION, ()
    if old.owner != new.owner:
        ref = reference(new)
        return _news(cache, [Notice(old.key, ref, Change.DELETED, cause), Notice(new.key, ref, Change.ADDED, cause)])
    if old.fingerprint == new.fingerprint:
        return (Decision.STATUS if is_webapp else Decision.UNCHANGED), ()
    return _news(cache, [Notice(new.key, reference(new), Change.MODIFIED, cause)])


def gone(ref: ObjectRef, old: Entry | None, cache: Cache, cause: Cause) -> Mapped:
    """An object that exists no longer, or that its WebApp no longer owns.

    What belonged to a WebApp that is not there is no news, unless it stood in the way of another one of that name.
    """
    if ref.resource == cache.primary:
        if old is None or cache.holder(ref.namespace, ref.name) != ref.uid:
            return Decision.REPLACED, ()
        return Decision.QUEUED, (Notice(old.key, ref, Change.DELETED, cause),)
    owner = old and cache.webapp(old.owner)
    concerned = owner or cache.webapp(cache.holder(ref.namespace, ref.name))
    if concerned is None:
        return (Decision.ORPHAN if old else Decision.FOREIGN), ()
    return Decision.QUEUED, (Notice(concerned.key, ref, Change.DELETED, cause),)


def sync(webapp: Entry, cause: Cause, tick: str = "") -> Notice:
    """The announcement of a WebApp as it is, not of a change."""
    return Notice(webapp.key, reference(webapp), Change.SYNC, cause, tick=tick)


def reference(obj: Pruned | Entry) -> ObjectRef:
    """How a notice names an object."""
    return ObjectRef(obj.resource, obj.namespace, obj.name, obj.uid, obj.version)


def _news(cache: Cache, notices: list[Notice]) -> Mapped:
    """What belongs to a WebApp that is not there (yet) is no news: the WebApp's own event, when it comes, covers it."""
    known = tuple(each for each in notices if each.object.resource == cache.primary or cache.webapp(each.webapp.uid))
    return (Decision.QUEUED, known) if known else (Decision.ORPHAN, ())
