"""The annotation that lets traces link across objects is never a change by itself."""

import os
import re
import time

import pytest
import urllib3

from functions.dev.jaeger import Jaeger
from functions.dev.operator import Operator
from functions.dev.processes import ProcessGroup
from functions.runtime.names import Metric
from functions.webapp.resources import DEFAULT_GROUP, DEPLOYMENT, Resource
from tests.builders import webapp, with_meta
from tests.cluster.admin import WEBAPP, until
from tests.cluster.sender import RECONCILER

CI = os.environ.get("CI") == "true"
WEBAPPS = 200 if CI else 10
QUIET_SECONDS = 60.0 if CI else 3.0
SETTLED_SECONDS = 2.0
STAMP = f"{DEFAULT_GROUP}/traceparent"
REPLICA_SET = Resource("apps", "v1", "ReplicaSet", "replicasets")


@pytest.fixture
def traced(cluster, namespace):
    """Bridge and function of which every trace is recorded; gives how many events were acknowledged."""
    with Jaeger() as jaeger, ProcessGroup() as processes:
        operator = Operator(cluster, processes)
        url = operator.start_function(jaeger.settings)
        health = operator.start_bridge(url, {**jaeger.settings, "WEBAPP_NAMESPACES": namespace})
        yield lambda: acknowledged(health)


def acknowledged(health):
    page = urllib3.request("GET", f"{health}metrics").data.decode()
    return int(float(re.findall(rf'^{Metric.SENT}_total{{answer="2xx"}} (\S+)$', page, re.MULTILINE)[0]))


def wait_for_quiet(cluster):
    """Return once the function has asked the API server nothing for a while."""
    since = cluster.mark()
    time.sleep(SETTLED_SECONDS)
    while cluster.audit(RECONCILER, since):
        since = cluster.mark()
        time.sleep(SETTLED_SECONDS)


def ready(admin, namespace):
    conditions = [each.get("status", {}).get("conditions", []) for each in admin.list(WEBAPP, namespace)]
    return sum(any(c["type"] == "Ready" and c["status"] == "True" for c in each) for each in conditions)


def state(admin, namespace):
    """Of each Deployment, what a stamp or a rollout would change; it includes the stamp."""
    return {
        each["metadata"]["name"]: (each["metadata"]["generation"], each["metadata"]["annotations"][STAMP])
        for each in admin.list(DEPLOYMENT, namespace)
    }


def test_converged_webapps_are_left_alone_and_events_that_change_nothing_do_not_stamp(
    cluster, admin, namespace, traced
):
    for number in range(WEBAPPS):
        admin.create(WEBAPP, webapp(with_meta(name=f"web-{number}"), namespace=namespace))
    until(lambda: ready(admin, namespace) == WEBAPPS, 120)
    wait_for_quiet(cluster)
    before, since = state(admin, namespace), cluster.mark()
    assert len(before) == WEBAPPS
    time.sleep(QUIET_SECONDS)
    assert cluster.audit(RECONCILER, since) == []
    events = traced()
    for number in range(WEBAPPS):
        admin.merge(WEBAPP, namespace, f"web-{number}", {"metadata": {"annotations": {"note": "touched"}}})
    until(lambda: traced() >= events + WEBAPPS, 60)
    assert [each for each in cluster.audit(RECONCILER, since) if each["verb"] != "get"] == []
    assert state(admin, namespace) == before
    assert len(admin.list(REPLICA_SET, namespace)) == WEBAPPS
