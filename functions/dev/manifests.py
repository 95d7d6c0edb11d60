"""The manifests this project ships, as objects, for any API group."""

from pathlib import Path
from typing import Any

import yaml

from functions.webapp.crd import crd
from functions.webapp.resources import DEFAULT_GROUP

PACKAGE = Path(__file__).parent


def installation(group: str = DEFAULT_GROUP) -> list[dict[str, Any]]:
    """Namespace, RBAC and CRD, in the order in which they must be applied."""
    checkout = PACKAGE.parents[1] / "knative" / "base"
    folder = checkout if checkout.is_dir() else PACKAGE / "manifests"  # an installed package holds a copy
    texts = [(folder / name).read_text(encoding="utf-8") for name in ("namespace.yaml", "rbac.yaml")]
    shipped = [manifest for text in texts for manifest in yaml.safe_load_all(text)]
    return [*(regrouped(manifest, group) for manifest in shipped), crd(group)]


def regrouped(manifest: dict[str, Any], group: str) -> dict[str, Any]:
    """The same manifest with the rules that it holds on our API group, if any, moved to another group."""
    if "rules" not in manifest:
        return manifest
    swap = {DEFAULT_GROUP: group}
    rules = [{**rule, "apiGroups": [swap.get(name, name) for name in rule["apiGroups"]]} for rule in manifest["rules"]]
    return {**manifest, "rules": rules}
