"""Pure: OpenAPI v3, as much of it as `kubectl explain` and client-side validation read (KEP-2896)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from functions.aggregation.discovery import group_version_kind
from functions.aggregation.kind import Kind

_META = "ObjectMeta"
_GVK = "x-kubernetes-group-version-kind"
_ACTION = "x-kubernetes-action"


def root(documents: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """`/openapi/v3`: the document of each group and version, by its digest."""
    return {
        "paths": {
            f"apis/{group}/{version}": {"serverRelativeURL": f"/openapi/v3/apis/{group}/{version}?hash={digest}"}
            for (group, version), digest in documents.items()
        }
    }


def document(kinds: Sequence[Kind]) -> dict[str, Any]:
    """`/openapi/v3/apis/GROUP/VERSION`, of the kinds of one group and version."""
    resource = kinds[0].resource
    paths = {path: item for kind in kinds for path, item in _paths(kind).items()}
    return {
        "openapi": "3.0.0",
        "info": {"title": resource.api_version, "version": resource.version},
        "paths": paths,
        "components": {"schemas": {_META: _OBJECT_META, **{_name(kind): _schema(kind) for kind in kinds}}},
    }


def _name(kind: Kind) -> str:
    resource = kind.resource
    return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _schema(kind: Kind) -> dict[str, Any]:
    metadata = {"description": "What every Kubernetes object has.", "allOf": [_reference(_META)], "default": {}}
    return {
        "type": "object",
        "description": kind.description,
        "properties": {
            "apiVersion": _text("The group and version that this representation of the object belongs to."),
            "kind": _text("The kind of the object."),
            "metadata": metadata,
            **kind.properties,
        },
        _GVK: [group_version_kind(kind.resource)],
    }


def _paths(kind: Kind) -> dict[str, Any]:
    found = {
        kind.resource.path(""): ("list", ()),
        kind.resource.path("{namespace}"): ("list", ("namespace",)),
        kind.resource.path("{namespace}", "{name}"): ("get", ("namespace", "name")),
    }
    return {path: {"get": _operation(kind, *each)} for path, each in found.items()}


def _operation(kind: Kind, action: str, names: Sequence[str]) -> dict[str, Any]:
    one = _reference(_name(kind))
    many = {"type": "object", "properties": {"items": {"type": "array", "items": one}}}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}
        for name in names
    ]
    answer = {"description": "OK", "content": {"application/json": {"schema": many if action == "list" else one}}}
    return {
        "description": f"{action} objects of the kind {kind.resource.kind}",
        "operationId": f"{action}{'Namespaced' if names else ''}{kind.resource.kind}",
        "parameters": parameters,
        "responses": {"200": answer},
        _ACTION: action,
        _GVK: group_version_kind(kind.resource),
    }


def _text(description: str, **more: str) -> dict[str, str]:
    return {"type": "string", "description": description, **more}


def _texts(description: str) -> dict[str, Any]:
    return {"type": "object", "description": description, "additionalProperties": {"type": "string"}}


_OBJECT_META = {
    "type": "object",
    "description": "What every Kubernetes object has.",
    "properties": {
        "name": _text("The name, unique among the objects of its kind in a namespace."),
        "namespace": _text("The namespace that the object belongs to."),
        "uid": _text("Tells the object from all others, also those that had its name before."),
        "resourceVersion": _text("The version of the object; a watch can start from it."),
        "creationTimestamp": _text("When the object came to be.", format="date-time"),
        "labels": _texts("Names and values by which objects are selected."),
        "annotations": _texts("Names and values that are not for selecting."),
    },
}
