"""The shipped roles are exactly what the product uses: each verb granted is asked for, and nothing is denied.

What the API server's audit log has of a whole life of a WebApp is laid beside the roles, so a verb too many fails
the test as well as a verb too few.
"""

import json

import pytest
import yaml

from functions.dev.cluster import KubectlError
from functions.dev.controlplane import ControlPlane
from functions.dev.operator import Operator
from functions.dev.processes import ProcessGroup
from functions.webapp.resources import DEPLOYMENT, INGRESS, SERVICE
from tests.builders import foreign, webapp
from tests.cluster.admin import WEBAPP, Admin, until
from tests.knative.kustomize import FOLDER

UNSEEN = {("webapps/finalizers", "update")}
"""Asked inside the API server, by its OwnerReferencesPermissionEnforcement: there is no request to be seen."""


@pytest.fixture(scope="module")
def plane():
    with ControlPlane(admission_plugins=["OwnerReferencesPermissionEnforcement"]) as control_plane:
        control_plane.install()
        control_plane.kubectl("create", "namespace", "team")
        yield control_plane


def granted(account):
    """(resource, verb) of every rule that the shipped manifests bind to a ServiceAccount."""
    shipped = list(yaml.safe_load_all((FOLDER / "base" / "rbac.yaml").read_text()))
    roles = {each["roleRef"]["name"] for each in shipped if account in str(each.get("subjects"))}
    rules = [rule for each in shipped if each["metadata"]["name"] in roles for rule in each.get("rules", ())]
    return {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}


def asked(plane, account):
    """(resource, verb) of every request of a ServiceAccount; none of them may have been denied."""
    found = plane.audit(f"system:serviceaccount:webapp-system:{account}")
    assert [each for each in found if each.get("responseStatus", {}).get("code") == 403] == []
    refs = [(each["objectRef"], each["verb"]) for each in found if "objectRef" in each]
    return {("/".join(filter(None, (ref["resource"], ref.get("subresource")))), verb) for ref, verb in refs}


def test_every_verb_granted_is_used_and_every_verb_used_is_granted(plane):
    admin = Admin(plane.kubeconfig)
    with ProcessGroup() as processes:
        operator = Operator(plane, processes)
        operator.start_bridge(operator.start_function())
        lead_a_life(plane, admin)
    assert asked(plane, "webapp-bridge") == granted("webapp-bridge")
    assert asked(plane, "webapp-reconciler") == granted("webapp-reconciler") - UNSEEN


def lead_a_life(plane, admin):
    """A WebApp with all of its children, edits of each, a conflict of names about each, and an Ingress that goes."""
    for resource in (DEPLOYMENT, SERVICE, INGRESS):
        theirs = foreign(resource, f"taken-{resource.kind.lower()}", "team")
        admin.create(resource, theirs)
        admin.create(WEBAPP, webapp(name=theirs["metadata"]["name"], namespace="team", host="taken.example.com"))
    admin.create(WEBAPP, webapp(name="web", namespace="team", host="web.example.com", replicas=1))
    until(lambda: admin.find(INGRESS, "team", "web"))
    change(admin, port=8080, host="other.example.com")
    until(lambda: admin.get(SERVICE, "team", "web")["spec"]["ports"][0]["port"] == 8080)
    until(lambda: "other.example.com" in json.dumps(admin.get(INGRESS, "team", "web")["spec"]))
    change(admin, host=None)
    until(lambda: admin.find(INGRESS, "team", "web") is None)
    until(lambda: "NameConflict" in plane.kubectl("get", "events", "-n", "team"))


def change(admin, **spec):
    admin.merge(WEBAPP, "team", "web", {"spec": spec})


def test_without_the_finalizers_verb_an_owner_cannot_be_set(plane):
    owner = Admin(plane.kubeconfig).create(WEBAPP, webapp(name="owner", namespace="team"))
    reference = {"apiVersion": WEBAPP.api_version, "kind": "WebApp", "name": "owner", "uid": owner["metadata"]["uid"]}
    references = [{**reference, "controller": True, "blockOwnerDeletion": True}]
    meta = {"name": "child", "namespace": "team", "ownerReferences": references}
    child = {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": [{"port": 80}]}}
    flags = ("create", "-f", "-", "--dry-run=server", "--as=system:serviceaccount:webapp-system:webapp-reconciler")
    plane.kubectl(*flags, stdin=json.dumps(child))
    role = plane.kubectl("get", "clusterrole", "webapp-reconciler", "-o", "json")
    rules = [rule for rule in json.loads(role)["rules"] if rule["resources"] != ["webapps/finalizers"]]
    patch = json.dumps({"rules": rules})
    plane.kubectl("patch", "clusterrole", "webapp-reconciler", "--type=merge", "-p", patch)

    def denied():
        try:
            plane.kubectl(*flags, stdin=json.dumps(child))
        except KubectlError as refusal:
            return "blockOwnerDeletion" in str(refusal)
        return False

    until(denied)
