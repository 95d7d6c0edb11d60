"""Pure: how one reconcile ended."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """All but the last mean that the event is done with."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    BLOCKED = "blocked"
    DELETING = "deleting"
    GONE = "gone"
    STALE = "stale"
    IGNORED = "ignored"
    FAILED = "failed"  # it came to no end: the sender has to send the event again
