"""Pure: pydantic model → structural OpenAPI v3 schema, as a CustomResourceDefinition wants it.

Structural schemas know no `$ref`, no `title` and no `null` type, and every node has one type
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from functions.webapp.part import Part

Schema = dict[str, Any]

_DROPPED = frozenset({"$defs", "const", "title"})


def structural(model: type[Part]) -> Schema:
    """The schema of the model and of everything inside it, rules included."""
    raw = model.model_json_schema(by_alias=True)
    return _node(raw, raw.get("$defs", {}))


def _node(raw: Mapping[str, Any], defs: Mapping[str, Any]) -> Schema:
    """One node, its references replaced by what they name; what stands beside a reference wins."""
    node = dict(raw)
    if "$ref" in node:
        node = {**defs[node.pop("$ref").rpartition("/")[2]], **node}
    if "anyOf" in node and {"type": "null"} in node["anyOf"]:
        [given] = [choice for choice in node.pop("anyOf") if choice != {"type": "null"}]
        return _node({**given, **node}, defs)
    if "const" in node:
        node["enum"] = [node["const"]]
    if node.get("default", "") is None:
        del node["default"]
    if "properties" in node:
        node["properties"] = {name: _node(child, defs) for name, child in node["properties"].items()}
    for inner in ("items", "additionalProperties"):
        if isinstance(node.get(inner), Mapping):
            node[inner] = _node(node[inner], defs)
    return {key: node[key] for key in sorted(node, key=_order) if key not in _DROPPED}


def _order(key: str) -> tuple[bool, bool, str]:
    """Sort what a reader looks for first to the front, and the members of an object to the end."""
    return key in {"items", "properties", "additionalProperties"}, key not in {"description", "type"}, key
