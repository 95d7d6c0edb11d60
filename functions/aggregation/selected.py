"""Pure: a change as somebody sees it who looks at selected objects only."""

from __future__ import annotations

from dataclasses import replace

from functions.aggregation.collection import Change, ChangeType, Object, Selection


def through(change: Change, selection: Selection) -> Change | None:
    """What a watch of a selection tells: an object that comes to be selected is ADDED, one that ceases to is DELETED.

    None where it was not selected before, and is not now. A change that keeps nothing of the object before is told as
    if that had been selected.
    """
    before = _before(change, selection)
    if change.type is ChangeType.DELETED or not selection.matches(change.object):
        return replace(change, type=ChangeType.DELETED, object=_gone(change)) if before else None
    return replace(change, type=ChangeType.MODIFIED if before else ChangeType.ADDED)


def _before(change: Change, selection: Selection) -> bool:
    match change.type:
        case ChangeType.ADDED:
            return False
        case ChangeType.DELETED:
            return selection.matches(change.object)
        case ChangeType.MODIFIED:
            return change.previous is None or selection.matches(change.previous)


def _gone(change: Change) -> Object:
    """What is told to be gone: as it was when it was selected, with the version of the change."""
    if change.previous is None:
        return change.object
    meta = {**change.previous["metadata"], "resourceVersion": str(change.version)}
    return {**change.previous, "metadata": meta}
