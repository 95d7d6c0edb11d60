"""Writes that somebody refuses: told in a condition that stays the same, tried again when asked, never in a loop."""

from __future__ import annotations

import pytest

from functions.webapp.resources import DEPLOYMENT, EVENT, Resource
from tests.builders import described, hosted, webapp, with_meta
from tests.cluster.admin import NAMESPACE, WEBAPP, Raw, until
from tests.cluster.sender import Answer, Sender

QUOTA = Resource("", "v1", "ResourceQuota", "resourcequotas")
POLICY = Resource(
    "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies"
)  # fmt: skip
BINDING = Resource(
    "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"
)


def limit(sender: Sender, **hard: str) -> None:
    """A ResourceQuota, in force."""
    named = {name.replace("__", "/").replace("_", "."): amount for name, amount in hard.items()}
    meta = {"name": "limit", "namespace": sender.namespace}
    sender.admin.create(QUOTA, {"metadata": meta, "spec": {"hard": named}})
    until(lambda: "used" in sender.admin.get(QUOTA, sender.namespace, "limit").get("status", {}))


def told(sender: Sender) -> list[tuple[str, str]]:
    """The Kubernetes Events about the WebApp."""
    events = sender.admin.list(EVENT, sender.namespace)
    return sorted((each["type"], each["reason"]) for each in events if each["regarding"]["kind"] == "WebApp")


def assert_stays_blocked(sender: Sender, reason: str) -> Answer:
    """The same again: no status, no Event, a wish to be asked again."""
    status = sender.webapp()["status"]
    answer = sender.send(reason="requeue")
    assert (answer.status, answer.outcome) == (204, "blocked")
    assert "update webapps/status" not in answer.requests
    assert int(answer.headers["webapp-requeue-after"]) >= 60
    assert sender.webapp()["status"] == status
    assert told(sender) == [("Warning", reason)]
    return answer


def test_a_quota_of_deployments_blocks_until_it_is_raised(sender):
    limit(sender, count__deployments_apps="0")
    sender.apply(webapp(hosted, replicas=0))
    answer = sender.send()
    assert (answer.status, answer.outcome) == (204, "blocked")
    assert sender.condition("Ready") == ("False", "QuotaExceeded", "create Deployment: exceeded quota: limit")
    again = assert_stays_blocked(sender, "QuotaExceeded")
    assert again.requests == ["get webapps", "create deployments", "get deployments"]
    assert {kind for kind, child in sender.children().items() if child} == {"Service", "Ingress"}

    raised = {"spec": {"hard": {"count/deployments.apps": "1"}}}
    sender.admin.merge(QUOTA, sender.namespace, "limit", raised)
    until(lambda: sender.send(reason="requeue").outcome == "created")
    assert sender.condition("Degraded")[:2] == ("False", "AsExpected")
    assert told(sender) == [("Normal", "Recovered"), ("Warning", "QuotaExceeded")]


def test_a_full_quota_is_no_failure_of_a_deployment_that_is_there(sender):
    sender.deploy(webapp(replicas=0))
    without = {**sender.snapshot(), "owned": []}
    limit(sender, count__deployments_apps="1", count__services="1")
    sender.edit(image="nginx:1.28")
    without["webapp"] = sender.webapp()
    answer = sender.send(without)  # as if the bridge had not seen the children yet
    assert answer.outcome == "updated"
    assert sender.condition("Degraded")[:2] == ("False", "AsExpected")
    assert sender.child(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.28"
    assert told(sender) == []


def test_pods_that_a_quota_refuses_are_told_without_their_names(sender):
    limit(sender, pods="0")
    sender.apply(webapp(replicas=2))
    sender.send()

    def failing() -> bool:
        conditions = sender.child(DEPLOYMENT).get("status", {}).get("conditions", [])
        return any(each["type"] == "ReplicaFailure" for each in conditions)

    until(failing)
    assert sender.send(of=DEPLOYMENT).status == 204
    message = "pods is forbidden: exceeded quota: limit"
    assert sender.condition("Degraded") == ("True", "ReplicaFailure", message)
    assert sender.condition("Ready") == ("False", "ReplicaFailure", message)
    until(lambda: sender.send().writes == [])
    assert told(sender) == [("Warning", "ReplicaFailure")]


def test_an_admission_policy_that_denies_is_quoted(sender):
    meta, name = {"name": sender.namespace}, sender.namespace
    rules = [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}]
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}, "resourceRules": rules}
    deny = [{"expression": "object.spec.replicas > 0", "message": "no idle Deployments"}]
    policy: Raw = {"metadata": meta, "spec": {"matchConstraints": here, "validations": deny}}
    sender.admin.create(POLICY, policy)
    sender.admin.create(BINDING, {"metadata": meta, "spec": {"policyName": name, "validationActions": ["Deny"]}})
    try:
        sender.apply(webapp(replicas=0))

        def denied() -> bool:  # policies come into force by a watch
            if sender.send().outcome == "blocked":
                return True
            sender.admin.delete(DEPLOYMENT, sender.namespace, "web")
            return False

        until(denied)
        status, reason, message = sender.condition("Ready")
        assert (status, reason) == ("False", "AdmissionDenied")
        assert message.endswith("denied request: no idle Deployments")
        assert_stays_blocked(sender, "AdmissionDenied")
        sender.edit(replicas=1)
        assert sender.send().outcome == "created"
        assert told(sender) == [("Normal", "Recovered"), ("Warning", "AdmissionDenied")]
    finally:
        sender.admin.delete(BINDING, "", name)
        sender.admin.delete(POLICY, "", name)


def test_what_the_api_servers_validation_refuses_is_quoted_and_heals_by_an_edit(sender):
    sender.deploy(webapp(replicas=0))
    sender.edit(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})
    assert sender.send().outcome == "blocked"
    status, reason, message = sender.condition("Degraded")
    assert (status, reason) == ("True", "Rejected")
    assert 'requests: Invalid value: "2": must be less than or equal to cpu limit of 1' in message
    assert_stays_blocked(sender, "Rejected")
    sender.edit(resources=None)
    assert sender.send().outcome == "updated"
    assert sender.condition("Degraded")[:2] == ("False", "AsExpected")
    assert told(sender) == [("Normal", "Recovered"), ("Warning", "Rejected")]


def test_a_terminating_namespace_gets_no_new_children(sender):
    sender.apply(described(webapp(hosted), with_meta(finalizers=["example.org/hold"])))
    event = sender.event()
    sender.admin.delete(NAMESPACE, "", sender.namespace)
    answer = sender.post(event)
    assert (answer.status, answer.outcome) in {(204, "blocked"), (204, "deleting")}
    assert "webapp-requeue-after" not in answer.headers
    if answer.outcome == "blocked":
        assert sender.condition("Degraded") == ("True", "NamespaceTerminating", _TERMINATING)
    assert not any(sender.children().values())
    sender.admin.merge(WEBAPP, sender.namespace, "web", {"metadata": {"finalizers": None}})


_TERMINATING = "create Ingress: the namespace is being deleted"


@pytest.mark.parametrize("kept", ["image", "replicas"])
def test_a_paused_webapp_leaves_its_children_as_they_are(sender, kept):
    sender.deploy(webapp(hosted, replicas=0))
    sender.edit(paused=True, **{kept: {"image": "nginx:1.28", "replicas": 3}[kept]})
    answer = sender.send()
    assert answer.requests == ["get webapps", "get deployments", "update webapps/status"]
    for type_, status in (("Ready", "True"), ("Progressing", "False")):
        assert sender.condition(type_)[:2] == (status, "Paused")
    sender.admin.delete(DEPLOYMENT, sender.namespace, "web")
    assert sender.send().writes == ["update webapps/status"]
    assert sender.children()["Deployment"] is None
    assert sender.send().requests == []
    sender.edit(paused=None)
    assert sender.send().outcome == "created"
    assert told(sender) == []
