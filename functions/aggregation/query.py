"""Pure: what a list or a watch asks for, read from the parameters of its URL (apimachinery `ListOptions`).

Everything here raises BadRequest, which names the parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from functions.aggregation import selectors
from functions.aggregation.collection import Selection
from functions.aggregation.continuation import Position
from functions.aggregation.kind import Kind
from functions.aggregation.status import BadRequest
from functions.aggregation.table import Include

Parameters = Mapping[str, str]
MAX_VERSION = 2**63 - 1
_NOT_OLDER = "NotOlderThan"
_EXACT = "Exact"
_FALSE = frozenset({"0", "false"})


@dataclass(frozen=True, slots=True)
class ListQuery:
    """`at` and `after` are for the collection, 0 and "" for its newest state, which must not be older than `least`."""

    selection: Selection
    limit: int
    at: int = 0
    after: str = ""
    least: int = 0

    @classmethod
    def of(cls, parameters: Parameters, kind: Kind, namespace: str) -> Self:
        """Read it."""
        if "sendInitialEvents" in parameters:
            raise BadRequest("sendInitialEvents: is for watches only")
        chosen = selection(parameters, kind, namespace)
        limit = _number(parameters, "limit")
        version = _number(parameters, "resourceVersion")
        match = parameters.get("resourceVersionMatch", "")
        token = parameters.get("continue", "")
        if token:
            if version or match:
                raise BadRequest("continue: has a version of its own; leave out resourceVersion and -Match")
            position = Position.of(token, kind.resource, chosen)
            return cls(chosen, limit, position.at, position.after)
        if match not in {"", _NOT_OLDER, _EXACT}:
            raise BadRequest(f"resourceVersionMatch: {match!r} is neither {_EXACT} nor {_NOT_OLDER}")
        if match and "resourceVersion" not in parameters:
            raise BadRequest("resourceVersionMatch: needs a resourceVersion")
        if match == _EXACT and not version:
            raise BadRequest("resourceVersionMatch: Exact needs a resourceVersion other than 0")
        if match == _EXACT or (version and limit and not match):
            return cls(chosen, limit, at=version)
        return cls(chosen, limit, least=version)


@dataclass(frozen=True, slots=True)
class WatchQuery:
    """A watch from `version` on, 0 for now; the objects there are now come first with `initial`.

    After them comes a bookmark if `initial_end`. `seconds` is how long it may last, 0 where the caller does not say.
    """

    selection: Selection
    version: int
    initial: bool
    initial_end: bool
    bookmarks: bool
    seconds: int

    @classmethod
    def of(cls, parameters: Parameters, kind: Kind, namespace: str) -> Self:
        """Read it."""
        match = parameters.get("resourceVersionMatch", "")
        told = "sendInitialEvents" in parameters
        if parameters.get("continue"):
            raise BadRequest("continue: is for lists only")
        if told and match != _NOT_OLDER:
            raise BadRequest(f"sendInitialEvents: needs resourceVersionMatch={_NOT_OLDER}")
        if match and not told:
            raise BadRequest("resourceVersionMatch: is for lists, and for watches with sendInitialEvents")
        version = _number(parameters, "resourceVersion")
        bookmarks = _switch(parameters, "allowWatchBookmarks")
        initial = _switch(parameters, "sendInitialEvents") if told else not version
        return cls(
            selection(parameters, kind, namespace),
            version,
            initial,
            initial_end=initial and told and bookmarks,
            bookmarks=bookmarks,
            seconds=_number(parameters, "timeoutSeconds"),
        )


def is_watch(parameters: Parameters) -> bool:
    """Whether a watch is asked for instead of a list."""
    return _switch(parameters, "watch")


def include(parameters: Parameters) -> Include:
    """What rows of a table are to carry."""
    asked = parameters.get("includeObject", "")
    try:
        return Include(asked or Include.METADATA)
    except ValueError:
        raise BadRequest(f"includeObject: {asked!r} is none of {', '.join(Include)}") from None


def selection(parameters: Parameters, kind: Kind, namespace: str) -> Selection:
    """What is selected in a namespace, "" for all of them."""
    try:
        labels = selectors.labels(parameters.get("labelSelector", ""))
    except selectors.SelectorError as error:
        raise BadRequest(f"labelSelector: {error}") from None
    try:
        fields = selectors.fields(parameters.get("fieldSelector", ""), kind.selectable)
    except selectors.SelectorError as error:
        raise BadRequest(f"fieldSelector: {error}") from None
    named = next((each for each in fields if each.equal and each.path == "metadata.name" and each.value), None)
    placed = next((each for each in fields if each.equal and each.path == "metadata.namespace" and each.value), None)
    if namespace:
        placed = None
    return Selection(
        placed.value if placed else namespace,
        named.value if named else "",
        labels,
        tuple(each for each in fields if each not in {named, placed}),
    )


def _switch(parameters: Parameters, name: str) -> bool:
    """As Kubernetes reads it: a parameter without value is true."""
    return name in parameters and parameters[name].lower() not in _FALSE


def _number(parameters: Parameters, name: str) -> int:
    text = parameters.get(name) or "0"
    if not (text.isascii() and text.isdigit() and int(text[:20]) <= MAX_VERSION):
        raise BadRequest(f"{name}: {text[:40]!r} is no number from 0 to {MAX_VERSION}")
    return int(text)
