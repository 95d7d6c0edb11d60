"""The manifests as kubectl builds them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from functions.dev.cluster import Cluster

FOLDER = Path(__file__).resolve().parents[2] / "knative"
OVERLAYS = sorted(path.parent.name for path in FOLDER.glob("overlays/*/kustomization.yaml"))
PROFILES = ("responsive", "burst")


@cache
def built(cluster: Cluster, folder: Path) -> str:
    """What `kubectl apply -k FOLDER` would send."""
    return cluster.kubectl("kustomize", str(folder))


def manifests(cluster: Cluster, folder: Path) -> list[dict[str, Any]]:
    """The same as objects."""
    return list(yaml.safe_load_all(built(cluster, folder)))


def only(cluster: Cluster, overlay: str, kind: str) -> dict[str, Any]:
    """The first object of a kind in an overlay; of Knative's Services the reconciler's."""
    found = manifests(cluster, FOLDER / "overlays" / overlay)
    name = "webapp-reconciler" if kind == "Service" else None
    return next(each for each in found if each["kind"] == kind and name in {None, each["metadata"]["name"]})


def composed(folder: Path, *components: str, resources: Sequence[str] = ("overlays/direct",)) -> Path:
    """The folder, now with a kustomization of these resources, the direct overlay or others, and of components."""
    root = os.path.relpath(FOLDER, folder)
    lines = [
        "resources:",
        *(f"  - {root}/{each}" for each in resources),
        "components:",
        *(f"  - {root}/components/{each}" for each in components),
    ]
    (folder / "kustomization.yaml").write_text("\n".join(lines) + "\n")
    return folder
