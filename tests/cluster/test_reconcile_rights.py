"""Functions with fewer rights than shipped: bound to namespaces, or without a verb."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from functions.dev.controlplane import ControlPlane
from functions.webapp.resources import EVENT, SYSTEM_NAMESPACE, Resource
from tests.builders import hosted, webapp
from tests.cluster.admin import Admin, Raw, until
from tests.cluster.conftest import new_namespace
from tests.cluster.sender import Function, Sender, running

RBAC = "rbac.authorization.k8s.io"
ROLE = Resource(RBAC, "v1", "Role", "roles")
ROLE_BINDING = Resource(RBAC, "v1", "RoleBinding", "rolebindings")
CLUSTER_ROLE = Resource(RBAC, "v1", "ClusterRole", "clusterroles")
ACCOUNT = Resource("", "v1", "ServiceAccount", "serviceaccounts")
Granted = Callable[[list[Raw]], Sender]


@pytest.fixture
def rules(admin: Admin) -> Any:
    """What the shipped role grants."""
    return admin.get(CLUSTER_ROLE, "", "webapp-reconciler")["rules"]


@pytest.fixture
def granted(cluster: ControlPlane, admin: Admin, namespace: str) -> Iterator[Granted]:
    """A function of a ServiceAccount of its own, with these rules in the test's namespace and none anywhere else."""
    with ExitStack() as stack:

        def start(rules: list[Raw]) -> Sender:
            name = f"scoped-{uuid.uuid4().hex[:8]}"
            admin.create(ACCOUNT, {"metadata": {"name": name, "namespace": SYSTEM_NAMESPACE}})
            meta = {"name": name, "namespace": namespace}
            admin.create(ROLE, {"metadata": meta, "rules": rules})
            who = {"kind": "ServiceAccount", "name": name, "namespace": SYSTEM_NAMESPACE}
            role = {"apiGroup": RBAC, "kind": "Role", "name": name}
            admin.create(ROLE_BINDING, {"metadata": meta, "subjects": [who], "roleRef": role})
            kubeconfig = cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, name)
            function: Function = stack.enter_context(running(kubeconfig, WEBAPP_NAMESPACES=namespace))
            user = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{name}"
            return Sender(cluster, admin, namespace, function, user=user)

        yield start


def without(rules: list[Raw], verb: str, resource: str) -> list[Raw]:
    """The rules but for one verb on one resource."""
    kept = [
        {**rule, "verbs": [each for each in rule["verbs"] if each != verb or resource not in rule["resources"]]}
        for rule in rules
    ]
    return [rule for rule in kept if rule["verbs"]]


def test_roles_in_the_allowed_namespaces_are_enough(granted, rules):
    sender = granted(rules)
    sender.apply(webapp(hosted, replicas=0))
    until(lambda: sender.send(None).status == 204)  # the authorizer learns of the role by a watch
    sender.wait_available()
    sender.settle()
    sender.edit(host=None, image="nginx:1.28")
    assert sender.send().outcome == "updated"
    assert sender.condition("Degraded")[:2] == ("False", "AsExpected")


def test_an_event_of_another_namespace_is_ignored_without_a_call(granted, rules, admin):
    sender = granted(rules)
    with new_namespace(admin) as elsewhere:
        event = sender.event(None, uid="")
        event["data"]["webapp"]["namespace"] = elsewhere
        answer = sender.post(event)
    assert (answer.status, answer.outcome, answer.requests) == (204, "ignored", [])


@pytest.mark.parametrize(
    ("verb", "resource", "spec"),
    [("create", "deployments", {}), ("create", "services", {}), ("create", "ingresses", {"host": "web.example.com"})],
)
def test_a_verb_that_is_missing_is_told_and_heals_once_granted(granted, rules, admin, verb, resource, spec):
    sender = granted(without(rules, verb, resource))
    sender.apply(webapp(replicas=0, **spec))
    until(lambda: sender.send().status == 204)
    status, reason, message = sender.condition("Degraded")
    assert (status, reason) == ("True", "Forbidden")
    assert f'cannot {verb} resource "{resource}"' in message
    if resource != "deployments":
        sender.wait_available()
        sender.send()
    again = sender.send(reason="requeue")
    assert (again.outcome, again.headers["webapp-requeue-after"]) == ("blocked", "60")
    assert again.requests == ["get webapps", f"create {resource}", f"get {resource}"]
    (role,) = admin.list(ROLE, sender.namespace)
    admin.put(ROLE, {**role, "rules": rules})
    until(lambda: sender.send(reason="requeue").outcome == "created")
    assert sender.condition("Degraded")[:2] == ("False", "AsExpected")
    told = [each for each in admin.list(EVENT, sender.namespace) if each["regarding"]["kind"] == "WebApp"]
    assert sorted(each["reason"] for each in told) == ["Forbidden", "Recovered"]


def test_a_status_that_may_not_be_written_is_answered_as_blocked(granted, rules):
    sender = granted(without(rules, "update", "webapps/status"))
    sender.apply(webapp(replicas=0))
    until(lambda: sender.send().status == 204)
    answer = sender.post(sender.event(), prefer="return=representation")
    assert (answer.outcome, answer.json["reason"]) == ("blocked", "Forbidden")
    assert "webapps/status" in json.dumps(answer.json["message"])
    assert answer.headers["webapp-requeue-after"] == "60"


def test_a_read_that_is_forbidden_is_for_the_sender_to_try_again(granted, rules):
    sender = granted(without(rules, "get", "webapps"))
    sender.apply(webapp(replicas=0))
    answer = sender.send()
    assert (answer.status, answer.json["title"]) == (503, "forbidden")
    assert 'cannot get resource "webapps"' in answer.json["detail"]
