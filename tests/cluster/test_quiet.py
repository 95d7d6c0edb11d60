"""Once converged, nothing is written any more: neither for healthy WebApps nor for those that fail for ever."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from functions.dev.controlplane import ControlPlane
from functions.dev.operator import Operator
from functions.dev.processes import ProcessGroup
from functions.webapp.resources import DEPLOYMENT
from tests.builders import webapp, with_meta
from tests.cluster.admin import WEBAPP, Admin, Raw, until
from tests.cluster.sender import RECONCILER

CI = os.environ.get("CI") == "true"
WEBAPPS = 200 if CI else 20
FAILING = WEBAPPS // 10
QUIET_SECONDS = 30.0 if CI else 5.0


@pytest.fixture
def operator(cluster: ControlPlane, namespace: str) -> Iterator[None]:
    """Bridge and function, at work in the test's namespace."""
    with ProcessGroup() as processes:
        started = Operator(cluster, processes)
        url = started.start_function({"WEBAPP_LOG_LEVEL": "WARNING"})
        started.start_bridge(url, {"WEBAPP_NAMESPACES": namespace, "BRIDGE_LEASE": "false"})
        yield


def foreign(name: str, namespace: str) -> Raw:
    """Somebody's own Deployment that has the name of a WebApp."""
    labels = {"app": "foreign"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "theirs", "image": "theirs:1"}]}}
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod},
    }


def told(admin: Admin, namespace: str) -> list[tuple[str, str]]:
    """Status and reason of each WebApp's Ready condition."""
    conditions = [each.get("status", {}).get("conditions", []) for each in admin.list(WEBAPP, namespace)]
    return [(c["status"], c["reason"]) for each in conditions for c in each if c["type"] == "Ready"]


def test_converged_webapps_cost_no_write_and_failing_ones_none_either(cluster, admin, namespace, operator):
    for number in range(FAILING):
        admin.create(DEPLOYMENT, foreign(f"web-{number}", namespace))
    for number in range(WEBAPPS):
        admin.create(
            WEBAPP, webapp(with_meta(name=f"web-{number}"), namespace=namespace, host=f"h{number}.example.com")
        )
    settled = {("True", "Available"): WEBAPPS - FAILING, ("False", "NameConflict"): FAILING}
    until(lambda: {each: told(admin, namespace).count(each) for each in settled} == settled, 120)
    since = cluster.mark()
    time.sleep(2)
    while [each for each in cluster.audit(RECONCILER, since) if each["verb"] != "get"]:  # the last rollouts
        since = cluster.mark()
        time.sleep(2)
    time.sleep(QUIET_SECONDS)
    assert [each for each in cluster.audit(RECONCILER, since) if each["verb"] != "get"] == []
