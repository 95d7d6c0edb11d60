"""Pure: pydantic model → structural OpenAPI v3 schema, as a CustomResourceDefinition wants it.

Structural schemas know no `$ref`, no `title` and no `null` type, and every node has one type
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from functions.webapp.part import Part, Rule

Schema = dict[str, Any]

_DROPPED = frozenset({"$defs", "const", "title"})


def structural(model: type[Part]) -> Schema:
    """The schema of the model and of everything inside it, rules included."""
    raw = model.model_json_schema(by_alias=True)
    rules = {part.__name__: [_validation(rule) for rule in part.rules] for part in _parts(model) if part.rules}
    return _node({**raw, "$ref": f"#/$defs/{model.__name__}"} if "$ref" in raw else raw, raw.get("$defs", {}), rules)


def _node(raw: Mapping[str, Any], defs: Mapping[str, Any], rules: Mapping[str, Any]) -> Schema:
    """One node, its references replaced by what they name; what stands beside a reference wins."""
    node = dict(raw)
    if "$ref" in node:
        node = {**defs[node.pop("$ref").rpartition("/")[2]], **node}
    if "anyOf" in node and {"type": "null"} in node["anyOf"]:
        [given] = [choice for choice in node.pop("anyOf") if choice != {"type": "null"}]
        return _node({**given, **node}, defs, rules)
    if "const" in node:
        node["enum"] = [node["const"]]
    if node.get("title") in rules:
        node["x-kubernetes-validations"] = rules[node["title"]]
    if node.get("default", "") is None:
        del node["default"]
    if "properties" in node:
        node["properties"] = {name: _node(child, defs, rules) for name, child in node["properties"].items()}
    for inner in ("items", "additionalProperties"):
        if isinstance(node.get(inner), Mapping):
            node[inner] = _node(node[inner], defs, rules)
    return {key: node[key] for key in sorted(node, key=_order) if key not in _DROPPED}


def _order(key: str) -> tuple[bool, bool, str]:
    """Sort what a reader looks for first to the front, and the members of an object to the end."""
    return key in {"items", "properties", "additionalProperties"}, key not in {"description", "type"}, key


def _validation(rule: Rule) -> Schema:
    path = {"fieldPath": f".{rule.field}"} if rule.field else {}
    return {"rule": rule.cel, "message": rule.message, **path}


def _parts(model: type[Part]) -> Iterator[type[Part]]:
    yield model
    for field in model.model_fields.values():
        for part in _named(field.annotation):
            yield from _parts(part)


def _named(annotation: Any) -> Iterator[type[Part]]:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _named(argument)
