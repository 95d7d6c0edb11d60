"""The direct overlay on a node where pods really run, from installation to end; the tests build on each other."""

import json
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
import urllib3

from tests.cluster.admin import WEBAPP, Admin
from tests.e2e.platform import BRIDGE, FUNCTION, SYSTEM

GROUP = "platform.example.com"
EDITORS = 4
QUEUE_PROXY = "webapp-reconciler"
"""queue-proxy speaks in the name of its Knative Service."""


@pytest.fixture(scope="module", autouse=True)
def installed(platform):
    platform.install("direct")


def children(platform, *names):
    wanted = {f"{kind}/{name}" for kind in ("deployment.apps", "service") for name in names}
    return wanted <= platform.names("deployments,services")


def container(platform, name):
    return platform.get("deployment", name)["spec"]["template"]["spec"]["containers"][0]


def sleeping(platform, seconds=150):
    platform.until(platform.scaled_to_zero, seconds, "the function has no pod")


def test_webapp_applied_while_the_function_sleeps_becomes_ready(platform):
    sleeping(platform)
    platform.apply("first", replicas=1)
    print(f"\ncold, apply to children: {platform.until(lambda: children(platform, 'first'), 60, 'children'):.2f} s")
    platform.cluster.kubectl("wait", "wa/first", "--for=condition=Ready", "-n", platform.namespace, "--timeout=90s")


def test_quiet_puts_the_function_to_sleep_and_nothing_of_ours_wakes_it(platform):
    took = platform.until(platform.asleep, 150, "no pod is left")
    print(f"\nquiet to no pod: {took:.0f} s")
    sent = platform.metric("webapp_bridge_sent_total")
    for _ in range(60):
        assert not platform.pods(FUNCTION)
        time.sleep(0.5)
    assert platform.metric("webapp_bridge_sent_total") == sent


def test_edit_while_the_function_sleeps_is_carried_out(platform):
    platform.apply("first", replicas=1, env=[{"name": "COLOUR", "value": "blue"}])
    took = platform.until(lambda: container(platform, "first").get("env"), 60, "the edit reaches the Deployment")
    print(f"\ncold, edit to Deployment: {took:.2f} s")


def test_memory_at_work(platform):
    platform.until(lambda: any("/queue-proxy" in each for each in platform.memory()), 60, "the kubelet has figures")
    print("\nworking set, MiB (cgroups):")
    for container, size in sorted(platform.memory().items()):
        print(f"  {container}: {size:.0f}")
        assert size < 100


def test_trace_holds_bridge_activator_queue_proxy_function_and_api_calls_together(platform):
    if not platform.asked.jaeger:
        return
    annotations = platform.get("deployment", "first")["metadata"]["annotations"]
    trace = annotations[f"{GROUP}/traceparent"].split("-")[1]
    seen: dict[str, list[str]] = {}

    def whole():
        url = f"http://{platform.asked.jaeger}:16686/api/traces/{trace}"
        spans = urllib3.request("GET", url).json().get("data") or [{"spans": [], "processes": {}}]
        processes = spans[0]["processes"]
        seen.clear()
        for span in spans[0]["spans"]:
            seen.setdefault(processes[span["processID"]]["serviceName"], []).append(span["operationName"])
        return seen.keys() >= {"webapp-bridge", QUEUE_PROXY, "webapp-reconcile"} and any(
            "activator" in each for each in seen
        )

    try:
        platform.until(whole, 30, "the trace has spans of everybody")
    finally:
        print(f"\ntrace {trace}:")
        for service, names in seen.items():
            print(f"  {service}: {', '.join(names)}")
    assert any("PATCH" in name or "POST /" in name for name in seen["webapp-reconcile"])


def test_function_pod_killed_while_it_works_loses_nothing(platform):
    names = [f"killed-{number}" for number in range(20)]
    platform.apply(*names)
    platform.until(lambda: children(platform, names[0]), 60, "it has begun")
    for pod in platform.pods(FUNCTION):
        platform.cluster.kubectl("delete", "pod", pod["metadata"]["name"], *SYSTEM, "--grace-period=0", "--force")
    platform.until(lambda: children(platform, *names), 90, "all children")


def test_bridge_pod_killed_while_it_sends_loses_nothing(platform):
    lease = platform.get("lease", "webapp-bridge", namespace="webapp-system")["spec"]["holderIdentity"]
    names = [f"bridge-{number}" for number in range(20)]
    platform.apply(*names)
    platform.cluster.kubectl("delete", "pod", lease, *SYSTEM, "--grace-period=0", "--force")
    took = platform.until(lambda: children(platform, *names), 90, "all children")
    print(f"\nafter the kill of the leader: {took:.1f} s")
    platform.cluster.kubectl("rollout", "status", "deployment/webapp-bridge", *SYSTEM, "--timeout=120s")
    assert len(platform.pods(BRIDGE)) >= 2


def test_new_revision_rolled_out_under_edits_loses_nothing(platform):
    names = [f"edited-{number}" for number in range(10)]
    platform.apply(*names)
    platform.until(lambda: children(platform, *names), 90, "all children")
    admin = Admin(platform.cluster.kubeconfig)
    began, finished = time.monotonic(), threading.Event()

    def edit(first):
        """A quarter of 20 edits a second, until the new revision serves and two seconds more; how many they were."""
        for number in count(first, EDITORS):
            if finished.is_set():
                return (number - first) // EDITORS
            spec = {"env": [{"name": "EDIT", "value": str(number)}]}
            admin.merge(WEBAPP, platform.namespace, names[number % len(names)], {"spec": spec})
            time.sleep(max(0.0, began + (number + 1) / 20 - time.monotonic()))
        return 0

    with ThreadPoolExecutor(EDITORS) as editors:
        edits = [editors.submit(edit, first) for first in range(EDITORS)]
        try:
            roll_out(platform, "61s")
            time.sleep(2)
        finally:
            finished.set()
    took, edited = time.monotonic() - began, sum(each.result() for each in edits)
    print(f"\n{edited} edits in {took:.1f} s, {edited / took:.1f} a second")
    last = {name: platform.get("wa", name)["spec"]["env"][0]["value"] for name in names}
    for name, value in last.items():
        platform.until(lambda n=name, v=value: container(platform, n)["env"][0]["value"] == v, 60, f"{name}={value}")


def roll_out(platform, window):
    template = {"metadata": {"annotations": {"autoscaling.knative.dev/window": window}}}
    patch = json.dumps({"spec": {"template": template}})
    platform.cluster.kubectl("patch", "ksvc", "webapp-reconciler", *SYSTEM, "--type", "merge", "-p", patch)
    generation = platform.get("ksvc", "webapp-reconciler", namespace="webapp-system")["metadata"]["generation"]

    def ready():
        status = platform.get("ksvc", "webapp-reconciler", namespace="webapp-system")["status"]
        (condition,) = [each for each in status["conditions"] if each["type"] == "Ready"]
        return status["observedGeneration"] == generation and condition["status"] == "True"

    platform.until(ready, 90, "the new revision is ready")


def test_cold_starts(platform):
    roll_out(platform, "6s")
    cold = []
    for number in range(5):
        sleeping(platform)
        platform.apply(f"cold-{number}")
        cold.append(platform.until(lambda name=f"cold-{number}": children(platform, name), 60, "children"))
    platform.apply("warm")
    warm = platform.until(lambda: children(platform, "warm"), 60, "children")
    told = ", ".join(f"{each:.2f}" for each in cold)
    print(f"\ncold, apply to children: {told} s, median {statistics.median(cold):.2f}; warm {warm:.2f} s")
