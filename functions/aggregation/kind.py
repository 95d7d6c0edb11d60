"""Pure: a kind of objects as an aggregated API serves it, namespaced and read-only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from functions.aggregation import age
from functions.aggregation.collection import Object
from functions.webapp.resources import Resource

VERBS = ("get", "list", "watch")
"""Without `delete` the namespace controller, the garbage collector and quotas pass the kind over."""

_ALWAYS = frozenset({"metadata.name", "metadata.namespace"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`; those with a priority above 0 are shown by `-o wide` only.

    `cell` takes the object and the time now; `type` and `format` are OpenAPI's.
    """

    name: str
    description: str
    cell: Callable[[Object, datetime], str | int | float | bool | None]
    type: str = "string"
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, eq=False)
class Kind:
    """What there is to know about a kind without its objects.

    `properties` are JSON schemas of the parts beside `apiVersion`, `kind` and `metadata`; their descriptions are what
    `kubectl explain` shows. `fields` are the paths that field selectors may name besides name and namespace.
    """

    resource: Resource
    singular: str
    description: str
    columns: tuple[Column, ...]
    properties: Mapping[str, Any]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    fields: frozenset[str] = field(default=frozenset())

    @property
    def selectable(self) -> frozenset[str]:
        """All paths that a field selector may name."""
        return self.fields | _ALWAYS


NAME = Column("Name", "The name, unique in its namespace.", lambda obj, _now: obj["metadata"]["name"], format="name")
AGE = Column(
    "Age",
    "The time since the object came to be.",
    lambda obj, now: age.since(obj["metadata"].get("creationTimestamp"), now),
)
