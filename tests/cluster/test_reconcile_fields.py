"""Each optional field on a real API server: it comes, it goes, and nothing is written once it has."""

from __future__ import annotations

from typing import Any

import pytest

from functions.dev.cluster import KubectlError
from functions.webapp.contract import Change
from functions.webapp.resources import DEPLOYMENT, INGRESS, OWNED, SERVICE
from tests.builders import asking, hosted, webapp
from tests.cluster.sender import Sender
from tests.corpus import VALID, Case

CONFIG = {"configMapKeyRef": {"name": "c", "key": "k"}}
SECRET = {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}
FIELD = {"fieldRef": {"fieldPath": "metadata.name"}}
MEMORY = {"resourceFieldRef": {"resource": "limits.memory"}}
BEYOND_THE_CRD = {"resources-quantities"}  # its request is above its limit, which only a pod's validation sees
CONTAINER = "template.spec.containers.0"


@pytest.fixture(scope="module")
def settled(shared: Sender) -> Sender:
    """A WebApp with a host and no pods, so that only its own writes move it."""
    shared.deploy(webapp(hosted, replicas=0))
    return shared


def at(obj: Any, path: str) -> Any:
    for step in path.split("."):
        obj = obj[int(step)] if isinstance(obj, list) else obj.get(step)
        if obj is None:
            return None
    return obj


def converge(sender: Sender) -> list[str]:
    """Send one event, wait for the Deployment controller, and hold the next events to writing no child."""
    writes = sender.send().writes
    sender.wait_available()
    assert {*sender.send().writes} <= {"update webapps/status"}
    assert sender.send().requests == []
    return [each for each in writes if each != "update webapps/status"]


@pytest.mark.parametrize(
    ("field", "value", "resource", "path", "seen"),
    [
        ("env", [{"name": "A", "value": "1"}], DEPLOYMENT, f"{CONTAINER}.env", [{"name": "A", "value": "1"}]),
        ("env", [{"name": "A", "value": ""}], DEPLOYMENT, f"{CONTAINER}.env", [{"name": "A"}]),
        ("env", [{"name": "A"}], DEPLOYMENT, f"{CONTAINER}.env", [{"name": "A"}]),
        ("env", [{"name": "A", "valueFrom": CONFIG}], DEPLOYMENT, f"{CONTAINER}.env.0.valueFrom", CONFIG),
        ("env", [{"name": "A", "valueFrom": SECRET}], DEPLOYMENT, f"{CONTAINER}.env.0.valueFrom", SECRET),
        (
            "env",
            [{"name": "A", "valueFrom": FIELD}],
            DEPLOYMENT,
            f"{CONTAINER}.env.0.valueFrom.fieldRef",
            {"apiVersion": "v1", "fieldPath": "metadata.name"},
        ),
        (
            "env",
            [{"name": "A", "valueFrom": MEMORY}],
            DEPLOYMENT,
            f"{CONTAINER}.env.0.valueFrom.resourceFieldRef",
            {"divisor": "0", "resource": "limits.memory"},
        ),
        ("resources", {}, DEPLOYMENT, f"{CONTAINER}.resources", {}),
        (
            "resources",
            {"requests": {"cpu": "1000m"}},
            DEPLOYMENT,
            f"{CONTAINER}.resources",
            {"requests": {"cpu": "1"}},
        ),
        ("nodeSelector", {"disk": "ssd"}, DEPLOYMENT, "template.spec.nodeSelector", {"disk": "ssd"}),
        ("imagePullSecrets", [{"name": "r"}], DEPLOYMENT, "template.spec.imagePullSecrets", [{"name": "r"}]),
        (
            "securityContext",
            {"runAsNonRoot": True, "supplementalGroups": [7], "seccompProfile": {"type": "RuntimeDefault"}},
            DEPLOYMENT,
            "template.spec.securityContext",
            {"runAsNonRoot": True, "supplementalGroups": [7], "seccompProfile": {"type": "RuntimeDefault"}},
        ),
        (
            "readinessPath",
            "/healthz",
            DEPLOYMENT,
            f"{CONTAINER}.readinessProbe.httpGet",
            {"path": "/healthz", "port": 80, "scheme": "HTTP"},
        ),
        ("ingressClassName", "nginx", INGRESS, "ingressClassName", "nginx"),
        ("tlsSecretName", "tls", INGRESS, "tls", [{"hosts": ["web.example.com"], "secretName": "tls"}]),
        ("port", 8080, SERVICE, "ports.0.targetPort", 8080),
    ],
)
def test_a_field_comes_and_goes_in_one_event_each(settled, field, value, resource, path, seen):
    settled.settle()
    before = at(settled.child(resource)["spec"], path)
    settled.edit(**{field: value})
    assert len(converge(settled)) == (3 if field == "port" else 1)
    assert at(settled.child(resource)["spec"], path) == seen
    settled.edit(**{field: None})
    assert len(converge(settled)) == (3 if field == "port" else 1)
    assert at(settled.child(resource)["spec"], path) == before


def test_one_kind_of_source_takes_the_place_of_another(settled):
    for source in (CONFIG, SECRET, FIELD, MEMORY):
        settled.edit(env=[{"name": "A", "valueFrom": source}])
        assert converge(settled) == ["patch deployments"]
    settled.edit(env=[{"name": "A", "value": "1"}])
    assert converge(settled) == ["patch deployments"]
    assert at(settled.child(DEPLOYMENT)["spec"], f"{CONTAINER}.env") == [{"name": "A", "value": "1"}]


@pytest.mark.parametrize("amount", ["0.0001", "1n", "1.5", "+1", ".5", "5.", "1e3", "1E3", "100E", "1M", "2Gi", "0"])
def test_amounts_in_any_spelling_settle(settled, amount):
    resources = {"requests": {"ephemeral-storage": amount}, "limits": {"ephemeral-storage": amount}}
    settled.edit(resources=resources)
    converge(settled)


@pytest.mark.parametrize("case", [case for case in VALID if case.name not in BEYOND_THE_CRD], ids=str)
def test_every_valid_webapp_settles(sender, case: Case):
    sender.apply(webapp(asking(**case.webapp["spec"]), asking(replicas=0, paused=None, autoscaled=None)))
    assert converge(sender)[0] == "create deployments"
    assert sender.condition("Degraded")[:2] == ("False", "AsExpected")
    assert sender.condition("Ready")[:2] == ("True", "ScaledToZero")


@pytest.mark.parametrize("resource", OWNED, ids=lambda each: each.kind)
def test_a_deleted_child_is_made_again(settled, resource):
    settled.settle()
    before = settled.child(resource)
    settled.admin.delete(resource, settled.namespace, "web")
    settled.admin.wait_gone(resource, settled.namespace, "web")
    writes = settled.send(of=resource, change=Change.DELETED).writes
    assert writes[0] == f"create {resource.plural}"
    after = settled.child(resource)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["metadata"]["labels"] == before["metadata"]["labels"]


@pytest.mark.parametrize(
    "command",
    [
        ("set", "env", "deployment/web", "HAND=made"),
        ("set", "image", "deployment/web", "app=other:1"),
        ("set", "resources", "deployment/web", "--limits=cpu=2"),
        ("scale", "deployment/web", "--replicas=2"),
        ("label", "deployment/web", "app-"),
        ("set", "selector", "service/web", "app=other"),
        ("annotate", "ingress/web", "x=y", "--overwrite"),
    ],
    ids=" ".join,
)
def test_what_is_edited_by_hand_in_our_fields_is_put_back(cluster, settled, command):
    settled.wait_available()
    settled.settle()
    before = {kind: child["spec"] for kind, child in settled.children().items()}
    labels = settled.child(DEPLOYMENT)["metadata"]["labels"]
    try:
        cluster.kubectl("-n", settled.namespace, *command)
    except KubectlError as error:
        pytest.fail(str(error))
    settled.send()
    settled.wait_available()
    settled.settle()
    assert {kind: child["spec"] for kind, child in settled.children().items()} == before
    assert settled.child(DEPLOYMENT)["metadata"]["labels"] == labels
