"""Pure: the documents by which clients learn what is served (apimachinery `meta/v1`, KEP-3352)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from functions.aggregation.kind import VERBS, Kind
from functions.aggregation.negotiation import Form
from functions.webapp.resources import Resource

Document = dict[str, Any]


def versions(kinds: Sequence[Kind]) -> dict[str, list[str]]:
    """The versions of each group, both in the order in which the kinds came; the first of a group is preferred."""
    found: dict[str, list[str]] = {}
    for kind in kinds:
        served = found.setdefault(kind.resource.group, [])
        if kind.resource.version not in served:
            served.append(kind.resource.version)
    return found


def group_list(kinds: Sequence[Kind]) -> Document:
    """APIGroupList: `/apis` as it was before 1.26."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(*each) for each in versions(kinds).items()]}


def group(kinds: Sequence[Kind], name: str) -> Document:
    """APIGroup: `/apis/GROUP`."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions(kinds)[name])}


def resource_list(kinds: Sequence[Kind], group: str, version: str) -> Document:
    """APIResourceList: `/apis/GROUP/VERSION`."""
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}",
        "resources": [_resource(kind) for kind in _of(kinds, group, version)],
    }


def group_discovery(kinds: Sequence[Kind], form: Form) -> Document:
    """APIGroupDiscoveryList: everything in one answer."""
    return {
        "kind": form.kind,
        "apiVersion": form.api_version,
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group, "creationTimestamp": None},
                "versions": [
                    {
                        "version": version,
                        "freshness": "Current",
                        "resources": [_discovered(kind) for kind in _of(kinds, group, version)],
                    }
                    for version in served
                ],
            }
            for group, served in versions(kinds).items()
        ],
    }


def group_version_kind(resource: Resource) -> dict[str, str]:
    """How discovery and OpenAPI spell a kind."""
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _of(kinds: Sequence[Kind], group: str, version: str) -> list[Kind]:
    return [kind for kind in kinds if (kind.resource.group, kind.resource.version) == (group, version)]


def _group(name: str, served: Sequence[str]) -> Document:
    told = [{"groupVersion": f"{name}/{version}", "version": version} for version in served]
    return {"name": name, "versions": told, "preferredVersion": told[0]}


def _resource(kind: Kind) -> Document:
    return {
        "name": kind.resource.plural,
        "singularName": kind.singular,
        "namespaced": True,
        **group_version_kind(kind.resource),
        "verbs": list(VERBS),
        "shortNames": list(kind.short_names),
        "categories": list(kind.categories),
    }


def _discovered(kind: Kind) -> Document:
    return {
        "resource": kind.resource.plural,
        "responseKind": group_version_kind(kind.resource),
        "scope": "Namespaced",
        "singularResource": kind.singular,
        "verbs": list(VERBS),
        "shortNames": list(kind.short_names),
        "categories": list(kind.categories),
    }
