"""The broker overlay: bridge, Broker, Trigger, function, dead letters, replies; the tests build on each other."""

import base64
import json
import uuid

import pytest

from tests.e2e.platform import BRIDGE, FUNCTION, SYSTEM

TALKATIVE = {
    "target": {"kind": "Service", "name": "webapp-reconciler"},
    "patch": json.dumps(
        [
            {
                "op": "add",
                "path": "/spec/template/spec/containers/0/env/-",
                "value": {"name": "WEBAPP_LOG_LEVEL", "value": "debug"},
            }
        ]
    ),
}
"""Makes the function log every delivery, not only those that did something."""

RECORDER = {
    "apiVersion": "eventing.knative.dev/v1",
    "kind": "Trigger",
    "metadata": {"name": "recorder", "namespace": "webapp-system"},
    "spec": {
        "broker": "webapp-events",
        "filter": {"attributes": {"type": "com.example.platform.reconcile.finished.v1"}},
        "subscriber": {"ref": {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "name": "recorder"}},
    },
}
"""Somebody who subscribes to what the function replies; it writes what it gets into its log."""

INGRESS = "http://broker-ingress.knative-eventing.svc.cluster.local/webapp-system/webapp-events"
POST = """
import sys, urllib.request
headers = dict(line.split(": ", 1) for line in sys.argv[2].splitlines())
request = urllib.request.Request(sys.argv[1], sys.argv[3].encode(), headers)
print(urllib.request.urlopen(request, timeout=400).status)
"""


@pytest.fixture(scope="module", autouse=True)
def installed(platform):
    platform.install("broker", TALKATIVE)
    dead_letters = platform.get("ksvc", "webapp-dead-letters", namespace="webapp-system")
    recorder = {
        "apiVersion": dead_letters["apiVersion"],
        "kind": "Service",
        "metadata": {"name": "recorder", "namespace": "webapp-system", "labels": dead_letters["metadata"]["labels"]},
        "spec": {"template": dead_letters["spec"]["template"]},
    }
    recorder["spec"]["template"]["metadata"]["annotations"]["autoscaling.knative.dev/min-scale"] = "1"
    platform.cluster.apply([recorder, RECORDER])
    for kind in ("broker", "trigger", "sinkbinding", "ksvc"):
        platform.cluster.kubectl("wait", kind, "--all", "--for=condition=Ready", *SYSTEM, "--timeout=120s")
    platform.cluster.kubectl("rollout", "status", "deployment/webapp-bridge", *SYSTEM, "--timeout=120s")


def lines(platform, service):
    """The events in the log of one of our sinks."""
    selector = f"serving.knative.dev/service={service}"
    log = ("logs", "-l", selector, "-c", "dead-letters", "--tail=-1", *SYSTEM)
    return [json.loads(line) for line in platform.cluster.kubectl(*log).splitlines() if '"specversion"' in line]


def deliveries(platform, event_id):
    """What the function logged of each delivery of one event."""
    log = platform.cluster.kubectl("logs", "-l", FUNCTION, "-c", "reconciler", "--tail=-1", *SYSTEM)
    told = [json.loads(line) for line in log.splitlines() if f'"{event_id}"' in line and line.startswith("{")]
    return [each for each in told if each.get("event_id") == event_id and "outcome" in each]


def post(platform, event, data):
    """Hand an event to the broker, from the bridge's pod; the status of the answer, which waits for all deliveries."""
    headers = {"content-type": "application/json", **{f"ce-{name}": value for name, value in event.items()}}
    told = "\n".join(f"{name}: {value}" for name, value in headers.items())
    command = ("exec", "deploy/webapp-bridge", *SYSTEM, "--", "python", "-c", POST, INGRESS, told, json.dumps(data))
    return int(platform.cluster.kubectl(*command))


def test_bridge_is_bound_to_the_broker_and_not_to_the_function(platform):
    pod = platform.get("pods", "-l", "app.kubernetes.io/name=webapp-bridge", namespace="webapp-system")["items"][0]
    variables = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
    assert variables["K_SINK"].endswith("/webapp-system/webapp-events")


def test_webapp_becomes_ready_through_the_broker(platform):
    platform.apply("first", replicas=1)
    took = platform.until(
        lambda: {"deployment.apps/first", "service/first"} <= platform.names("deploy,svc"), 90, "children"
    )
    print(f"\nthrough the broker, cold: {took:.2f} s")
    platform.cluster.kubectl("wait", "wa/first", "--for=condition=Ready", "-n", platform.namespace, "--timeout=90s")


def test_replies_reach_who_subscribes_and_start_nothing(platform):
    platform.until(lambda: lines(platform, "recorder"), 60, "a reply arrives")
    counts: list[int] = []

    def settled():
        counts.append(len(lines(platform, "recorder")))
        return len(counts) > 20 and len(set(counts[-20:])) == 1

    replies = platform.until(settled, 90, "replies come to an end")
    told = lines(platform, "recorder")
    print(f"\n{len(told)} replies, settled after {replies:.0f} s")
    assert {each["type"] for each in told} == {"com.example.platform.reconcile.finished.v1"}
    assert len({each["id"] for each in told}) == len(told)
    assert len(told) < 30


def test_poison_is_delivered_once_and_lands_among_the_dead_letters_with_its_reason(platform):
    name = uuid.uuid4().hex
    event = {
        "specversion": "1.0",
        "id": name,
        "type": "com.example.platform.webapp.exploded.v1",
        "source": "//platform.example.com/clusters/e2e/platform.example.com/webapps",
        "webappuid": "e2e",
    }
    assert post(platform, event, {"webapp": {"namespace": "e2e", "name": "first"}}) == 202
    assert len(deliveries(platform, name)) == 1
    (letter,) = [each for each in lines(platform, "webapp-dead-letters") if each["id"] == name]
    assert letter["knativeerrorcode"] == "422"
    assert "webapp-reconciler" in letter["knativeerrordest"]
    assert "unknown_event" in base64.b64decode(letter["knativeerrordata"]).decode()


def about_first(platform):
    """A new event about the WebApp `first`, without a snapshot, and its data."""
    uid = platform.get("wa", "first")["metadata"]["uid"]
    event = {
        "specversion": "1.0",
        "id": uuid.uuid4().hex,
        "type": "com.example.platform.webapp.modified.v1",
        "source": "//platform.example.com/clusters/e2e/platform.example.com/webapps",
        "webappuid": uid,
    }
    return event, {"webapp": {"namespace": platform.namespace, "name": "first", "uid": uid}}


def test_event_that_is_done_with_is_delivered_once(platform):
    event, data = about_first(platform)
    assert post(platform, event, data) == 202
    assert [each["outcome"] for each in deliveries(platform, event["id"])] == ["unchanged"]
    assert not [each for each in lines(platform, "webapp-dead-letters") if each["id"] == event["id"]]


def test_what_cannot_be_done_now_is_tried_again_and_then_a_dead_letter(platform):
    """Without its role the function answers 503: Knative tries four times, then gives the event to the sink."""
    platform.cluster.kubectl("delete", "clusterrolebinding", "webapp-reconciler")
    event, data = about_first(platform)
    assert post(platform, event, data) == 202
    assert len(deliveries(platform, event["id"])) == 4
    (letter,) = [each for each in lines(platform, "webapp-dead-letters") if each["id"] == event["id"]]
    assert letter["knativeerrorcode"] == "503"


def test_cancelled_post_is_sent_again_under_the_same_id(platform):
    """The role is still missing: the broker is killed while it retries what the bridge sent, which cancels the rest."""
    platform.apply("first", replicas=1, env=[{"name": "COLOUR", "value": "blue"}])
    version = platform.get("wa", "first")["metadata"]["resourceVersion"]
    uid = platform.get("wa", "first")["metadata"]["uid"]
    event_id = f"{uid}.{version}.modified"
    platform.until(lambda: deliveries(platform, event_id), 60, "the first delivery of it")
    retried = platform.metric("webapp_bridge_retried_total")
    ingress = ("-n", "knative-eventing", "-l", "eventing.knative.dev/brokerRole=ingress")
    platform.cluster.kubectl("delete", "pods", *ingress, "--grace-period=0", "--force")
    platform.until(lambda: platform.metric("webapp_bridge_retried_total") > retried, 90, "the bridge counts a retry")
    platform.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(platform.folder))
    platform.until(lambda: container(platform, "first").get("env"), 120, "the edit reaches the Deployment")
    assert [each["outcome"] for each in deliveries(platform, event_id)][-1] in {"updated", "unchanged"}


def test_bridge_killed_while_its_post_waits_loses_nothing(platform):
    platform.cluster.kubectl("delete", "clusterrolebinding", "webapp-reconciler")
    platform.apply("first", replicas=1, env=[{"name": "COLOUR", "value": "green"}])
    lease = platform.get("lease", "webapp-bridge", namespace="webapp-system")["spec"]["holderIdentity"]
    meta = platform.get("wa", "first")["metadata"]
    event_id = f"{meta['uid']}.{meta['resourceVersion']}.modified"
    platform.until(lambda: deliveries(platform, event_id), 60, "the first delivery of it")
    platform.cluster.kubectl("delete", "pod", lease, *SYSTEM, "--grace-period=0", "--force")
    platform.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(platform.folder))
    took = platform.until(
        lambda: container(platform, "first")["env"] == [{"name": "COLOUR", "value": "green"}], 120, "the edit is there"
    )
    print(f"\nafter the kill of the leader with a POST under way: {took:.1f} s")
    assert len(platform.pods(BRIDGE)) >= 2


def container(platform, name):
    """The app's container in a WebApp's Deployment."""
    return platform.get("deployment", name)["spec"]["template"]["spec"]["containers"][0]
