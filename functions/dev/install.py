"""The direct overlay in one file, for those who do not want kustomize: `kubectl apply -f knative/install.yaml`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from functions.webapp.crd import crd
from functions.webapp.resources import DEFAULT_GROUP

IMAGE = "webapp-operator"
"""What stands in the manifests for the image that components/image names."""


def manifests(folder: Path) -> list[dict[str, Any]]:
    """Everything in `base`, in its order, with the image of `components/image`; `folder` is `knative`."""
    names = _read(folder / "base" / "kustomization.yaml")[0]["resources"]
    shipped = [each for name in names for each in _documents(folder / "base" / name)]
    (image,) = _read(folder / "components" / "image" / "kustomization.yaml")[0]["images"]
    return [_with_image(each, f"{image['newName']}:{image['newTag']}") for each in shipped]


def _documents(path: Path) -> list[dict[str, Any]]:
    return [crd(DEFAULT_GROUP)] if path.name == "crd.yaml" else _read(path)  # that one is generated as well


def _read(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def _with_image(manifest: dict[str, Any], image: str) -> dict[str, Any]:
    text = json.dumps(manifest).replace(f'"image": "{IMAGE}"', f'"image": {json.dumps(image)}')
    found: dict[str, Any] = json.loads(text)
    return found
