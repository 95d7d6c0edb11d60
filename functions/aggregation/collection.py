"""Pure: what an aggregated API serves its objects from; a database implements it, or anything else that keeps versions.

A version is a positive number that only grows; `metadata.resourceVersion` is its text. All methods may raise
`status.Unavailable` when what holds the objects cannot be reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from functions.aggregation.selectors import FieldRequirement, Requirement

Object = dict[str, Any]
"""One raw Kubernetes object."""


class ChangeType(StrEnum):
    """The types of watch events that tell of objects."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects are asked for: all of these conditions hold; "" and () ask for nothing in particular."""

    namespace: str = ""
    name: str = ""
    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()

    def matches(self, obj: Object) -> bool:
        """Whether it selects an object."""
        meta = obj["metadata"]
        return (
            self.namespace in {"", meta["namespace"]}
            and self.name in {"", meta["name"]}
            and all(requirement.matches(meta.get("labels", {})) for requirement in self.labels)
            and all(requirement.matches(obj) for requirement in self.fields)
        )


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the selected objects as they were at `version`, and the position of the next page, "" at the end."""

    objects: list[Object]
    version: int
    more: str = ""
    remaining: int | None = None
    """How many objects are to follow, where that is known."""


@dataclass(frozen=True, slots=True)
class Change:
    """An object as one change left it; as it last was, with the version of its deletion, where that was it.

    `previous` is the object before it was MODIFIED: only with it does a watch through selectors know what it showed.
    """

    type: ChangeType
    version: int
    object: Object
    previous: Object | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """All changes up to and including `version` since the one asked for, in the order of their versions."""

    changes: list[Change]
    version: int


class Collection(Protocol):
    """Called from many threads at once."""

    def get(self, namespace: str, name: str) -> Object | None:
        """One object as it is now."""
        ...

    def list(self, selection: Selection, limit: int, at: int = 0, after: str = "") -> Page:
        """At most `limit` objects; 0 is no limit.

        `at` and `after` are a page's `version` and `more`: the next page of the same state. Raises `status.Expired`
        when that state is no longer kept.
        """
        ...

    def changes(self, after: int, limit: int) -> Changes:
        """What changed in all namespaces after a version: at most `limit` changes, the oldest first.

        With fewer, `version` is the newest complete one. Raises `status.Expired` when not all of them are kept.
        """
        ...

    def version(self) -> int:
        """The newest version up to which everything is there."""
        ...
