"""Pure: lay a desired object over an observed one; what differs comes back as JSON Patch operations (RFC 6902).

The desired object says of each field one of three things:

- a value: the field shall have it;
- `None`: the field is ours and shall be absent;
- nothing: the field is not ours, whatever stands there stays (server defaults, other people's labels and sidecars).

A plain dict is laid over key by key, a plain list is ours as a whole. `Whole`, `Keyed` and `Quantity` say otherwise.
No operations means that the observed object already is as desired: that is the test for "nothing to do", blind to
server defaults and to the spelling of quantities.

The observed object may be a lie, so operations assert what they lean on: `test` the key behind a list index, and
`test` that what a map takes the place of is there, or that nothing is (null: RFC 6902 is silent, the API server takes
it as absent), since a map that was there may hold what is not ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from functions.webapp import quantity

Operation = dict[str, Any]
"""One JSON Patch operation: `op`, `path` and, but for `remove`, `value`."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A map that is ours to the last key: keys that are not named shall be absent."""

    entries: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Keyed:
    """List entries that are ours by the value of `key`; other people's entries stay."""

    key: str
    entries: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount, compared by value."""

    text: str


class _Missing:
    """The observed object does not have the field."""


_MISSING = _Missing()


def operations(observed: Any, desired: Any) -> list[Operation]:
    """The JSON Patch that turns `observed` into what `desired` says; empty where it already is.

    `observed` is raw JSON of any shape; where its shape is not the expected one, the field is replaced as a whole.
    """
    return list(_diff(observed, desired))


def render(desired: Any) -> Any:
    """The desired object as plain JSON for a create: absent fields left out, and maps that only held such."""
    match desired:
        case None | str() | int():
            return desired
        case Whole(entries):
            return render(entries)
        case Quantity(text):
            return text
        case dict():
            rendered = {key: found for key, value in desired.items() if (found := render(value)) is not None}
            return rendered or (None if desired else {})
        case Keyed(entries=entries) | (list() | tuple() as entries):
            return [render(entry) for entry in entries]
        case _:
            return desired


def _diff(observed: Any, desired: Any) -> Iterator[Operation]:
    """Paths begin at `observed` and grow on the way out of the recursion: what is as desired needs none."""
    match desired:
        case None | str() | int() | Quantity():
            yield from _leaf(observed, desired)
        case Whole(entries) if isinstance(observed, dict):
            unwanted = dict.fromkeys(key for key in observed if key not in entries)
            yield from _diff(observed, {**entries, **unwanted})
        case dict() if isinstance(observed, dict):
            for key, value in desired.items():
                for each in _diff(observed.get(key, _MISSING), value):
                    yield _below(key, each)
        case Keyed(key, entries) if isinstance(observed, list):
            for entry in entries:
                yield from _diff_entry(observed, key, entry)
        case list() | tuple() if isinstance(observed, list) and len(observed) == len(desired):
            pairs = zip(observed, desired, strict=True)
            if any(operations(mine, wanted) for mine, wanted in pairs):
                yield _set(observed, desired)
        case _:
            yield from _replace(observed, desired)


def _leaf(observed: Any, desired: str | int | Quantity | None) -> list[Operation]:
    match desired:
        case None:
            return [] if observed is _MISSING else [{"op": "remove", "path": ""}]
        case Quantity(text):
            same = isinstance(observed, str | int | float) and (observed == text or quantity.same(observed, text))
        case _:
            same = observed == desired and type(observed) is type(desired)
    return [] if same else [_set(observed, desired)]


def _diff_entry(observed: list[Any], key: str, entry: Mapping[str, Any]) -> Iterator[Operation]:
    for index, candidate in enumerate(observed):
        if isinstance(candidate, dict) and candidate.get(key) == entry[key]:
            if found := operations(candidate, entry):
                test = {"op": "test", "path": f"/{escape(key)}", "value": entry[key]}
                yield from (_below(str(index), each) for each in (test, *found))
            return
    yield {"op": "add", "path": "/-", "value": render(entry)}


def _replace(observed: Any, desired: Any) -> Iterator[Operation]:
    value = render(desired)
    if value is None or (type(observed) is type(value) and observed == value):
        return
    if isinstance(value, dict | list) and type(observed) is not type(value):
        yield {"op": "test", "path": "", "value": None if observed is _MISSING else observed}
    yield _set(observed, desired)


def _set(observed: Any, desired: Any) -> Operation:
    return {"op": "add" if observed is _MISSING else "replace", "path": "", "value": render(desired)}


def _below(token: str, operation: Operation) -> Operation:
    return {**operation, "path": f"/{escape(token)}{operation['path']}"}


def escape(key: str) -> str:
    """A key as one reference token of a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
