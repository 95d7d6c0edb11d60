"""JSON Schema, read as the API server reads it: which values it accepts, and a strategy that draws such values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jsonschema
from hypothesis import strategies as st

Schema = dict[str, Any]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.just(0.5) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def _whole_pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Any:
    """Python's `$` also matches before a final newline; in RE2 it does not."""
    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")


_CHECKER = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
    "integer",
    lambda _checker, value: isinstance(value, int) and not isinstance(value, bool),
)
Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    {"pattern": _whole_pattern},
    type_checker=_CHECKER,
)


def accepts(schema: Schema, value: Any) -> bool:
    """The verdict of the schema, after null members are dropped as the API server drops them."""
    return bool(Validator(schema).is_valid(_without_nulls(schema, value)))


def _without_nulls(schema: Schema, value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nulls(schema.get("items", {}), item) for item in value]
    if isinstance(value, dict):
        known = {name: _member(schema, name) for name in value}
        return {
            name: _without_nulls(known[name], member)
            for name, member in value.items()
            if not (member is None and known[name])
        }
    return value


def _member(schema: Schema, name: str) -> Schema:
    found: Schema = schema.get("properties", {}).get(name) or schema.get("additionalProperties") or {}
    return found


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that the schema accepts; rules across fields are not looked at."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return _integers(schema) | _texts(schema)
    return _TYPES[schema["type"]](schema)


def _integers(schema: Schema) -> st.SearchStrategy[int]:
    return st.integers(schema["minimum"], schema["maximum"])


def _texts(schema: Schema) -> st.SearchStrategy[str]:
    least, most = schema.get("minLength", 0), schema["maxLength"]
    if "pattern" not in schema:
        return st.text(min_size=least, max_size=min(12, most))
    pattern: str = schema["pattern"]
    return st.from_regex(pattern, fullmatch=True).filter(lambda text: least <= len(text) <= most)


def _objects(schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
    if "additionalProperties" in schema:
        keys = st.from_regex(r"[a-z]{1,8}(\.example\.com/[a-z]{1,8})?", fullmatch=True)
        return st.dictionaries(keys, values(schema["additionalProperties"]), max_size=min(3, schema["maxProperties"]))
    members = {name: values(child) for name, child in schema["properties"].items()}
    required = {name: members.pop(name) for name in schema.get("required", ())}
    return st.fixed_dictionaries(required, optional=members)


def _arrays(schema: Schema) -> st.SearchStrategy[list[Any]]:
    keys = schema.get("x-kubernetes-list-map-keys")
    key = (lambda item: tuple(item[name] for name in keys)) if keys else None
    return st.lists(values(schema["items"]), max_size=min(3, schema["maxItems"]), unique_by=key)


_TYPES: dict[str, Callable[[Schema], st.SearchStrategy[Any]]] = {
    "array": _arrays,
    "boolean": lambda _schema: st.booleans(),
    "integer": _integers,
    "object": _objects,
    "string": _texts,
}
