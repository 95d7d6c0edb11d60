"""The manifests this project ships, as objects, for any API group."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

GROUP = "platform.example.com"
PACKAGE = Path(__file__).parent


def base() -> Path:
    """The kustomize base: `knative/base` of a checkout, or the copy inside an installed package."""
    checkout = PACKAGE.parents[1] / "knative" / "base"
    return checkout if checkout.is_dir() else PACKAGE / "manifests"


def installation(group: str = GROUP, crd: str | None = None) -> list[dict[str, Any]]:
    """Namespace, RBAC and CRD in the order in which they must be applied; `crd` is YAML text for another CRD than the shipped one."""
    if crd is None:
        crd = (base() / "crd.yaml").read_text()
    texts = [(base() / "namespace.yaml").read_text(), (base() / "rbac.yaml").read_text(), crd]
    return [regrouped(manifest, group) for text in texts for manifest in _documents(text)]


def regrouped(manifest: dict[str, Any], group: str) -> dict[str, Any]:
    """The same manifest for another API group: in a CRD its name and group, in a role the rules on ours."""
    if manifest["kind"] == "CustomResourceDefinition":
        name = f"{manifest['spec']['names']['plural']}.{group}"
        return {
            **manifest,
            "metadata": {**manifest["metadata"], "name": name},
            "spec": {**manifest["spec"], "group": group},
        }
    if "rules" in manifest:
        rules = [{**rule, "apiGroups": [group if g == GROUP else g for g in rule["apiGroups"]]} for rule in manifest["rules"]]
        return {**manifest, "rules": rules}
    return manifest


def _documents(text: str) -> Iterator[dict[str, Any]]:
    return (document for document in yaml.safe_load_all(text) if document)
