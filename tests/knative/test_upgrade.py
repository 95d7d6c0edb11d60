"""What an earlier version wrote is taken over as it is: no child is written, so no pod is replaced.

`tests/data/upgrade/VERSION` holds WebApps and their children as the API server stored them when that version wrote
them. A release adds its own folder; none is ever changed.
"""

from pathlib import Path

import pytest
import yaml

from functions.webapp.resources import OWNED
from tests.cluster.admin import WEBAPP, until

RECORDED = sorted(Path(__file__).parents[1].glob("data/upgrade/*/*.yaml"))
KINDS = {each.kind: each for each in OWNED}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_children_of_an_earlier_version_are_not_touched(cluster, admin, namespace, operator, audit, path):
    theirs, *children = yaml.safe_load_all(path.read_text())
    theirs["metadata"]["namespace"] = namespace
    found = admin.create(WEBAPP, theirs)
    meta = found["metadata"]
    owner = {"apiVersion": WEBAPP.api_version, "kind": "WebApp", "name": meta["name"], "uid": meta["uid"]}
    for child in children:
        child["metadata"] |= {
            "namespace": namespace,
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        }
        admin.create(KINDS[child["kind"]], child)
    before = audit("webapp-reconciler")
    operator.start_bridge(operator.start_function(), {"WEBAPP_NAMESPACES": namespace})
    until(lambda: admin.get(WEBAPP, namespace, meta["name"]).get("status", {}).get("observedGeneration") == 1)
    writes = [
        each for each in audit("webapp-reconciler")[len(before) :] if each["verb"] in {"create", "patch", "delete"}
    ]
    about = [each for each in writes if each["objectRef"].get("namespace") == namespace]
    assert [each["requestURI"] for each in about if each["objectRef"]["resource"] != "events"] == []
    (deployment,) = [each for each in children if each["kind"] == "Deployment"]
    assert admin.get(KINDS["Deployment"], namespace, deployment["metadata"]["name"])["metadata"]["generation"] == 1
