"""The manifests this project ships, as objects, for any API group."""

from pathlib import Path
from typing import Any

import yaml

from functions.webapp.crd import crd
from functions.webapp.resources import DEFAULT_GROUP

PACKAGE = Path(__file__).parent


def installation(group: str = DEFAULT_GROUP) -> list[dict[str, Any]]:
    """Namespace, RBAC and CRD, in the order in which they must be applied."""
    texts = [_shipped("base", name) for name in ("namespace.yaml", "rbac.yaml")]
    shipped = [manifest for text in texts for manifest in yaml.safe_load_all(text)]
    return [*(regrouped(manifest, group) for manifest in shipped), crd(group)]


def addition(group: str) -> list[dict[str, Any]]:
    """What an installation lacks to serve one more group: the CRD, and roles of that group for the same accounts."""
    found = []
    for manifest in installation(group):
        if "rules" in manifest or "roleRef" in manifest:
            name = f"{manifest['metadata']['name']}.{group}"
            renamed = {**manifest, "metadata": {**manifest["metadata"], "name": name}}
            reference = manifest.get("roleRef")
            found.append({**renamed, "roleRef": {**reference, "name": name}} if reference else renamed)
    return [*found, crd(group)]


def sample(name: str) -> str:
    """The text of a sample WebApp, such as `webapp.yaml`."""
    return _shipped("samples", name)


def history_roles() -> list[dict[str, Any]]:
    """The accounts of the reconcile history, what they may do, and who may read it."""
    return list(yaml.safe_load_all(_shipped("extensions/history/base", "rbac.yaml", "history-rbac.yaml")))


def history_registration() -> dict[str, Any]:
    """The APIService of the reconcile history, without a caBundle."""
    found: dict[str, Any] = yaml.safe_load(_shipped("extensions/history/apiservice", "apiservice.yaml"))
    return found


def _shipped(folder: str, name: str, packaged: str = "") -> str:
    """A file below `knative/`; an installed package holds a copy, called `packaged` where names would clash."""
    checkout = PACKAGE.parents[1] / "knative" / folder
    found = checkout / name if checkout.is_dir() else PACKAGE / "manifests" / (packaged or name)
    return found.read_text(encoding="utf-8")


def regrouped(manifest: dict[str, Any], group: str) -> dict[str, Any]:
    """The same manifest with the rules that it holds on our API group, if any, moved to another group."""
    if "rules" not in manifest:
        return manifest
    swap = {DEFAULT_GROUP: group}
    rules = [{**rule, "apiGroups": [swap.get(name, name) for name in rule["apiGroups"]]} for rule in manifest["rules"]]
    return {**manifest, "rules": rules}
