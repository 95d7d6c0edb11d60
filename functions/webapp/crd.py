"""Pure: the CustomResourceDefinition of the WebApp, generated from the model."""

from __future__ import annotations

from typing import Any

from functions.webapp.model import WebApp
from functions.webapp.resources import KIND, PLURAL, VERSION
from functions.webapp.schema import structural
from functions.webapp.status_model import WebAppStatus

_COLUMNS: list[dict[str, Any]] = [
    {"name": "Desired", "type": "integer", "jsonPath": ".spec.replicas", "description": "Pods that are wanted."},
    {"name": "Ready", "type": "integer", "jsonPath": ".status.readyReplicas", "description": "Pods that are ready."},
    {"name": "Host", "type": "string", "jsonPath": ".spec.host", "description": "DNS name of the application."},
    {
        "name": "Reason",
        "type": "string",
        "jsonPath": '.status.conditions[?(@.type=="Ready")].reason',
        "description": "Why the condition Ready is what it is.",
        "priority": 1,
    },
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def crd(group: str) -> dict[str, Any]:
    """The definition for one API group, e.g. `platform.example.com`, as JSON of `apiextensions.k8s.io/v1`."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["wa"],
                "categories": ["platform"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "additionalPrinterColumns": [dict(column) for column in _COLUMNS],
                    "selectableFields": [{"jsonPath": ".spec.host"}, {"jsonPath": ".spec.image"}],
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.replicas",
                            "statusReplicasPath": ".status.replicas",
                            "labelSelectorPath": ".status.selector",
                        },
                    },
                    "schema": {"openAPIV3Schema": _schema()},
                },
            ],
        },
    }


def _schema() -> dict[str, Any]:
    schema = structural(WebApp)
    schema["required"] = ["spec"]
    schema["properties"] = {
        "apiVersion": {"description": "Group and version of this object's form.", "type": "string"},
        "kind": {"description": "Always WebApp.", "type": "string"},
        "metadata": _name_only(schema["properties"]["metadata"]),
        "spec": schema["properties"]["spec"],
        "status": {**structural(WebAppStatus), "description": "What is, as the operator last saw it."},
    }
    return schema


def _name_only(metadata: dict[str, Any]) -> dict[str, Any]:
    """Of the metadata a schema may restrict the name, and describe nothing."""
    return {"type": "object", "properties": metadata["properties"]}
