"""What happens while the webhooks are away, and how an operator's work goes on afterwards."""

import json
import signal

import pytest

from functions.dev.cluster import KubectlError
from functions.webapp.resources import DEPLOYMENT, SYSTEM_NAMESPACE
from tests.admission import metrics
from tests.admission.pods import BY_NAME, to_create
from tests.builders import webapp
from tests.cluster.admin import POD, until
from tests.cluster.sender import Sender, running

INJECTOR, GUARD = "sidecar.platform.example.com", "guard.platform.example.com"


@pytest.fixture
def webhooks(webhooks):
    """Those of the module, whole again after each test."""
    yield webhooks
    webhooks.signal(signal.SIGKILL)
    webhooks.start()
    webhooks.register()
    webhooks.wait_asked()


@pytest.fixture
def sender(plane, admin, plain):
    """The reconcile function with its own rights, and events to it."""
    with running(plane.service_account_kubeconfig(SYSTEM_NAMESPACE, "webapp-reconciler")) as function:
        yield Sender(plane, admin, plain, function)


def create(plane, namespace, name="app"):
    pod = to_create(BY_NAME["restricted"].pod, namespace)
    pod["metadata"]["name"] = name
    return plane.kubectl("create", "-f", "-", stdin=json.dumps(pod))


def test_dead_webhooks_close_opted_in_namespaces_and_no_others_that_matter(plane, webhooks, opted_in):
    webhooks.signal(signal.SIGKILL)
    with pytest.raises(KubectlError, match=f'failed calling webhook "{INJECTOR}"'):
        create(plane, opted_in)
    create(plane, SYSTEM_NAMESPACE, "own")
    create(plane, "kube-system", "system")


def test_dead_webhooks_let_pods_pass_where_failures_are_ignored(plane, webhooks, opted_in):
    webhooks.register(lambda webhook: webhook.update(failurePolicy="Ignore"))
    webhooks.signal(signal.SIGKILL)
    opened = "apiserver_admission_webhook_fail_open_count"
    before = metrics.total(plane, opened, name=INJECTOR)

    def admitted():
        try:
            return create(plane, opted_in)
        except KubectlError:  # the API server has not heard of the new failurePolicy yet
            return None

    until(admitted)
    assert metrics.total(plane, opened, name=INJECTOR) > before


def test_hung_webhook_is_given_up_after_its_timeout(plane, webhooks, opted_in):
    webhooks.signal(signal.SIGSTOP)
    with pytest.raises(KubectlError, match=rf'failed calling webhook "{INJECTOR}".*(deadline|[Tt]imeout)'):
        create(plane, opted_in)


def test_denials_and_failures_are_told_apart_by_the_servers_own_counter(plane, webhooks, plain):
    name = "apiserver_admission_webhook_rejection_count"
    denied = {"name": GUARD, "error_type": "no_error", "rejection_code": "403"}
    failed = {"name": GUARD, "error_type": "calling_webhook_error"}
    before = metrics.total(plane, name, **denied), metrics.total(plane, name, **failed)
    with pytest.raises(KubectlError):
        plane.kubectl("run", "x", "--image=nginx", "-n", plain)
    webhooks.signal(signal.SIGKILL)
    with pytest.raises(KubectlError):
        plane.kubectl("run", "x", "--image=nginx", "-n", plain)
    assert (metrics.total(plane, name, **denied), metrics.total(plane, name, **failed)) == (
        before[0] + 1,
        before[1] + 1,
    )


def test_webapp_converges_although_both_webhooks_die_and_come_back(webhooks, sender):
    webhooks.signal(signal.SIGKILL)
    sender.apply(webapp(securityContext={"runAsNonRoot": True}))
    assert sender.send().status == 204
    until(lambda: replica_failure(sender))
    webhooks.start()
    sender.wait_available()
    sender.settle()
    assert sender.condition("Ready")[0] == "True"


def replica_failure(sender):
    conditions = sender.child(DEPLOYMENT).get("status", {}).get("conditions", [])
    return any(each["type"] == "ReplicaFailure" and each["status"] == "True" for each in conditions)


@pytest.mark.usefixtures("webhooks")
def test_webapp_whose_pods_are_refused_says_so_and_is_healed_by_its_own_field(plane, admin, sender):
    sender.apply(webapp())
    sender.send()
    until(lambda: replica_failure(sender))
    assert "update webapps/status" in sender.send().writes
    assert "ReplicaFailure" in plane.kubectl("get", "wa", "-o", "wide", "-n", sender.namespace)
    status, reason, message = sender.condition("Ready")
    assert (status, reason) == ("False", "ReplicaFailure")
    assert message.startswith(f'admission webhook "{GUARD}" denied the request: containers must not run as root')
    assert "container 'app': spec.containers[0].securityContext.runAsNonRoot is not set" in message
    assert sender.send().writes == []  # the same text again and again, although every refused Pod has another name
    sender.edit(securityContext={"runAsNonRoot": True})
    sender.send()
    sender.wait_available()
    sender.settle()
    assert sender.condition("Ready")[:2] == ("True", "Available")
    assert admin.list(POD, sender.namespace)[0]["spec"]["securityContext"]["runAsNonRoot"] is True
