"""Snapshots that lie about a child, one lie at a time: the edit arrives, no work is lost, nothing false is told."""

from __future__ import annotations

from copy import deepcopy
from itertools import count
from typing import Any

import pytest

from functions.webapp.resources import DEPLOYMENT, INGRESS, OWNED, SERVICE, Resource
from tests.builders import hosted, webapp
from tests.cluster.admin import Raw
from tests.cluster.sender import Sender

SIDECAR = {"name": "sidecar", "image": "envoy:3"}
EVERY = pytest.mark.parametrize("resource", OWNED, ids=lambda each: each.kind)
PORTS = count(8000)


@pytest.fixture(scope="module")
def lived_in(shared: Sender) -> Sender:
    """A settled WebApp with other people's work in each of its children."""
    shared.deploy(webapp(hosted, replicas=0))
    move_in(shared)
    return shared


def move_in(sender: Sender) -> None:
    """Put other people's work there, where it is not there already."""
    notes = {"labels": {"theirs": "1"}, "annotations": {"theirs": "1"}}
    for resource in OWNED:
        sender.admin.merge(resource, sender.namespace, "web", {"metadata": notes})
    sidecar = {"spec": {"template": {"spec": {"containers": [SIDECAR, app(sender)]}}}}
    sender.admin.merge(DEPLOYMENT, sender.namespace, "web", sidecar)
    sender.admin.merge(SERVICE, sender.namespace, "web", {"spec": {"type": "NodePort"}})


@pytest.fixture
def edited(lived_in: Sender) -> Sender:
    """The same, just edited: every child has to change."""
    move_in(lived_in)
    lived_in.settle()
    port = next(PORTS)
    lived_in.edit(port=port, image=f"nginx:{port}", host=f"host-{port}.example.com")
    return lived_in


def app(sender: Sender) -> Any:
    containers = sender.child(DEPLOYMENT)["spec"]["template"]["spec"]["containers"]
    return next(each for each in containers if each["name"] == "app")


def lie(sender: Sender, kind: str, *path: str | int, as_: Any) -> Raw:
    """An event whose snapshot has one place of one object changed, or (as `...`) gone."""
    told = sender.snapshot()
    found: Any = next(each for each in told["owned"] if each["kind"] == kind)
    for step in path[:-1]:
        found = found[step]
    if as_ is ...:
        del found[path[-1]]
    else:
        found[path[-1]] = as_
    return sender.event(told)


def assert_served(sender: Sender) -> None:
    """The edit arrived in every child, what others put there is still there, and the status says so."""
    owner = sender.webapp()
    spec, container = owner["spec"], app(sender)
    assert (container["image"], container["ports"][0]["containerPort"]) == (spec["image"], spec["port"])
    assert sender.child(SERVICE)["spec"]["ports"][0]["port"] == spec["port"]
    assert sender.child(INGRESS)["spec"]["rules"][0]["host"] == spec["host"]
    for resource in OWNED:
        meta = sender.child(resource)["metadata"]
        assert meta["labels"]["theirs"] == meta["annotations"]["theirs"] == "1"
    assert SIDECAR.items() <= sender.child(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0].items()
    assert sender.child(SERVICE)["spec"]["type"] == "NodePort"
    assert sender.condition("Degraded")[:2] == ("False", "AsExpected")
    assert owner["status"]["observedGeneration"] == owner["metadata"]["generation"]


@EVERY
@pytest.mark.parametrize(
    ("path", "as_"),
    [
        ("metadata.resourceVersion", "1"),
        ("metadata.resourceVersion", "99999999999"),
        ("metadata.labels", ...),
        ("metadata.labels", None),
        ("metadata.labels", "none"),
        ("metadata.annotations", ...),
        ("metadata.annotations", None),
        ("metadata.annotations", []),
        ("metadata.uid", "00000000-0000-0000-0000-000000000000"),
        ("metadata.name", "other"),
        ("metadata.namespace", "kube-system"),
        ("metadata.ownerReferences", ...),
        ("metadata.ownerReferences", []),
        ("metadata.ownerReferences", [{"controller": True}]),
        ("spec", ...),
        ("spec", "none"),
        ("spec", None),
        ("status", "none"),
        ("kind", "Pod"),
    ],
)
def test_a_lie_about_a_child_neither_hinders_nor_harms(edited, resource, path, as_):
    assert edited.post(lie(edited, resource.kind, *path.split("."), as_=as_)).status == 204
    assert_served(edited)


@pytest.mark.parametrize(
    ("path", "as_"),
    [
        (("containers",), ...),
        (("containers",), None),
        (("containers",), "app"),
        (("containers",), {}),
        (("containers",), []),
        (("containers", 0), ...),  # no sidecar: our container seems to be first
        (("containers", 1), ...),  # only the sidecar
        (("containers", 1, "name"), "other"),
        (("containers", 0, "name"), "app"),  # the sidecar passes for ours
        (("containers", 1, "ports"), "x"),
        (("containers", 1, "env"), [{"name": "NOT", "value": "there"}]),
        (("containers", 1, "resources"), {"limits": {"cpu": "9e999999Ki"}}),
        (("containers", 1, "readinessProbe"), []),
        (("nodeSelector",), {"not": "there"}),
        (("imagePullSecrets",), [{"name": "not-there"}]),
        (("securityContext",), {"runAsUser": 0}),
    ],
    ids=str,
)
def test_a_lie_about_the_pod_template_neither_hinders_nor_harms(edited, path, as_):
    answer = edited.post(lie(edited, "Deployment", "spec", "template", "spec", *path, as_=as_))
    assert answer.status == 204
    assert_served(edited)


@pytest.mark.parametrize("version", ["0", "latest", "-1", "99999999999999999999", "", 7, None])
def test_a_version_that_guards_nothing_is_refused(lived_in, version):
    answer = lived_in.post(lie(lived_in, "Service", "metadata", "resourceVersion", as_=version))
    assert (answer.status, answer.requests) == (400, [])
    assert answer.json["field"].endswith(".metadata.resourceVersion")


def test_a_deployment_that_is_said_to_be_as_wanted_does_not_pass_for_it(edited):
    told, port = deepcopy(edited.snapshot()), edited.webapp()["spec"]["port"]
    deployment = next(each for each in told["owned"] if each["kind"] == "Deployment")
    _, container = deployment["spec"]["template"]["spec"]["containers"]
    container |= {
        "image": f"nginx:{port}",
        "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": port}},
    }
    answer = edited.send(told)
    assert "get deployments" in answer.requests
    assert_served(edited)


@EVERY
def test_drift_that_is_kept_quiet_is_healed_by_the_next_honest_event(lived_in, resource):
    lived_in.settle()
    quiet, truth = lived_in.event(), lived_in.child(resource)["spec"]
    drift(lived_in, resource)
    assert lived_in.post(quiet).requests == []
    lived_in.settle()
    assert lived_in.child(resource)["spec"] == truth
    assert_served(lived_in)


def drift(sender: Sender, resource: Resource) -> None:
    changes: dict[Resource, Raw] = {
        DEPLOYMENT: {"replicas": 3},
        SERVICE: {"selector": {"app": "other"}},
        INGRESS: {"rules": [{"host": "drifted.example.com"}]},
    }
    sender.admin.merge(resource, sender.namespace, "web", {"spec": changes[resource]})


def test_readiness_that_is_not_there_is_not_told(sender):
    sender.apply(webapp(replicas=2, nodeSelector={"no": "such-node"}))
    sender.send()
    counts = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"), 2)
    answer = sender.post(lie(sender, "Deployment", "status", as_={"observedGeneration": 9, **counts}))
    assert answer.requests[:2] == ["get webapps", "get deployments"]
    assert sender.condition("Ready")[0] == "False"
    assert sender.webapp()["status"]["readyReplicas"] == 0


def test_an_outage_that_is_not_there_is_not_told(sender):
    sender.deploy(webapp())
    trouble = {"type": "ReplicaFailure", "status": "True", "message": "made up"}
    answer = sender.post(lie(sender, "Deployment", "status", as_={"conditions": [trouble]}))
    assert answer.writes == []
    assert sender.condition("Ready")[:2] == ("True", "Available")
