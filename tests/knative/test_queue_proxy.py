"""The function behind Knative's real queue-proxy, with the numbers of the shipped manifest."""

import json
import signal
import threading
import uuid

import urllib3

from functions.dev.processes import free_port
from functions.webapp.resources import DEPLOYMENT
from tests.builders import webapp
from tests.cluster.admin import WEBAPP, until
from tests.knative.kustomize import only
from tests.knative.queueproxy import QueueProxy


def event(found):
    """An event about a WebApp, without a snapshot: it costs a read at least."""
    meta = found["metadata"]
    return {
        "specversion": "1.0",
        "id": uuid.uuid4().hex,
        "type": "com.example.platform.webapp.modified.v1",
        "source": "//platform.example.com/clusters/tests/platform.example.com/webapps",
        "data": {"webapp": {"namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}},
    }


def post(proxy, found):
    headers = {"content-type": "application/cloudevents+json"}
    return proxy.http.request("POST", proxy.url, body=json.dumps(event(found)), headers=headers)


def test_pod_is_ready_once_the_function_is(cluster, processes, operator):
    port = free_port()
    proxy = QueueProxy(processes, only(cluster, "direct", "Service"), port)
    assert proxy.probe() == 503
    operator.start_function(port=port)
    until(lambda: proxy.probe() == 200)


def test_overload_of_the_queue_is_retried_until_nothing_is_left(
    cluster, admin, namespace, processes, operator, apiserver, through_the_valve
):
    service = only(cluster, "direct", "Service")
    service["spec"]["template"]["spec"]["containerConcurrency"] = 1  # queue-proxy holds ten more, and refuses the rest
    port = free_port()
    operator.start_function({"KUBECONFIG": str(through_the_valve), "RECONCILE_THREADS": "1"}, port=port)
    proxy = QueueProxy(processes, service, port)
    bridge = operator.start_bridge(proxy.url, {"WEBAPP_NAMESPACES": namespace})  # not what other tests left
    apiserver.shut()
    names = [f"web-{number}" for number in range(30)]
    for name in names:
        admin.create(WEBAPP, webapp(name=name, namespace=namespace))
    until(lambda: metric(bridge, 'webapp_bridge_sent_total{answer="5xx"}') > 0)
    apiserver.open()
    until(lambda: all(admin.find(DEPLOYMENT, namespace, name) for name in names), 60)
    until(lambda: metric(bridge, "webapp_bridge_queue_depth") == metric(bridge, "webapp_bridge_in_flight") == 0, 60)
    assert metric(bridge, "webapp_bridge_retried_total") > 0
    assert metric(bridge, "webapp_bridge_parked_total") == 0


def metric(bridge, name):
    page = urllib3.request("GET", f"{bridge}metrics").data.decode()
    return sum(float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith(name))


def test_pod_that_ends_answers_what_it_has_begun_and_what_still_comes(
    cluster, admin, namespace, processes, operator, apiserver, through_the_valve
):
    port = free_port()
    operator.start_function({"KUBECONFIG": str(through_the_valve)}, port=port)
    proxy = QueueProxy(processes, only(cluster, "direct", "Service"), port)
    early, late = (admin.create(WEBAPP, webapp(name=name, namespace=namespace)) for name in ("early", "late"))
    apiserver.shut()
    answers: dict[str, int] = {}
    drained: list[int] = []
    begun = threading.Thread(target=lambda: answers.update(early=post(proxy, early).status))
    begun.start()
    assert apiserver.waiting.wait(10)
    # the kubelet's order: queue-proxy is told to end at once, the function only when its preStop hook has returned
    proxy.process.signal(signal.SIGTERM)
    hook = threading.Thread(target=lambda: drained.append(proxy.wait_for_drain()))
    hook.start()
    until(lambda: proxy.probe() == 503)
    arriving = threading.Thread(target=lambda: answers.update(late=post(proxy, late).status))
    arriving.start()
    apiserver.open()
    for thread in (begun, arriving, hook):
        thread.join(60)
    function = processes[operator.name("function")]
    function.signal(signal.SIGTERM)
    assert answers == {"early": 204, "late": 204}
    assert drained == [200]
    assert function.wait(10) == 0
    assert proxy.process.wait(10) == 0
    assert all(admin.find(DEPLOYMENT, namespace, name) for name in ("early", "late"))
