"""The history's database killed under load: WebApps converge meanwhile, and afterwards no run is missing."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from cloudevents.core.v1.event import CloudEvent

from functions.dev.answer import Answer
from functions.dev.cluster import KubectlError
from functions.dev.controlplane import ControlPlane
from functions.dev.history import History
from functions.dev.operator import Operator
from functions.dev.postgres import Postgres
from functions.dev.processes import ProcessGroup
from functions.dev.tap import Tap
from functions.webapp.resources import DEPLOYMENT
from tests.builders import webapp
from tests.cluster.admin import NAMESPACE, WEBAPP, Admin, until
from tests.cluster.bridge.bridges import RunningBridge
from tests.cluster.conftest import new_namespace

OUTAGE_SECONDS = 60 if os.environ.get("CI") == "true" else 4
ROUND_SECONDS = 0.5
"""How often every WebApp is edited, at most: for a whole outage, that is what a bridge keeps as it is shipped."""
NAMES = [f"web-{number}" for number in range(8)]

Ran = tuple[str, str]
"""The event that was handled, and the trace."""


@dataclass
class Busy:
    """An operator whose history is in PostgreSQL, and every answer that its bridge was given."""

    cluster: ControlPlane
    admin: Admin
    namespace: str
    postgres: Postgres
    bridge: RunningBridge
    ran: list[Ran]
    rounds: int = 0

    def edit(self) -> None:
        """Give every WebApp another image, and wait until their Deployments and statuses have it."""
        self.rounds += 1
        image = f"nginx:{self.rounds}"
        for name in NAMES:
            self.admin.merge(WEBAPP, self.namespace, name, {"spec": {"image": image}})
        until(lambda: all(self.converged(name, image) for name in NAMES))

    def converged(self, name: str, image: str) -> bool:
        found = self.admin.get(WEBAPP, self.namespace, name)
        deployment = self.admin.find(DEPLOYMENT, self.namespace, name)
        current = found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"]
        made = deployment and deployment["spec"]["template"]["spec"]["containers"][0]["image"] == image
        return bool(current and made)

    def rows(self) -> Counter[Ran]:
        found = json.loads(self.cluster.kubectl("get", "reconciles", "-n", self.namespace, "-o", "json"))["items"]
        return Counter((each["spec"]["trigger"]["eventID"], each["status"]["trace"]["traceID"]) for each in found)

    def is_complete(self) -> bool:
        return self.rows() == Counter(self.ran)


@pytest.fixture
def busy(cluster: ControlPlane, admin: Admin) -> Iterator[Busy]:
    with new_namespace(admin) as namespace, Postgres() as postgres, ProcessGroup() as processes:
        ran: list[Ran] = []

        def keep(event: CloudEvent, answer: Answer) -> None:
            ran.append((event.get_id(), answer.trace_id))

        more = {"HISTORY_KEEP_RUNS": "100000", "WEBAPP_NAMESPACES": namespace, "BRIDGE_LEASE_NAME": namespace}
        operator = Operator(cluster, processes)
        with History(cluster, processes, more, postgres.database()) as history:
            more["BRIDGE_HISTORY_SINK"] = history.recorder(operator)
            with Tap(operator.start_function(more), keep) as tap:
                health = operator.start_bridge(tap.url, more)
                history.serve()
                bridge = RunningBridge(processes["bridge"], health)
                yield Busy(cluster, admin, namespace, postgres, bridge, ran)


def test_no_webapp_waits_for_the_database_and_no_run_is_missing_afterwards(busy: Busy) -> None:
    for name in NAMES:
        busy.admin.create(WEBAPP, webapp(name=name, namespace=busy.namespace, replicas=0))
    busy.edit()
    until(busy.is_complete)

    busy.postgres.kill()
    away = time.monotonic()
    done, before = busy.rounds, len(busy.ran)
    while (began := time.monotonic()) - away < OUTAGE_SECONDS:
        busy.edit()
        time.sleep(max(0.0, ROUND_SECONDS - (time.monotonic() - began)))
    assert busy.rounds > done
    assert len(busy.ran) >= before + len(NAMES) * (busy.rounds - done)
    with pytest.raises(KubectlError, match="ServiceUnavailable"):
        busy.rows()
    registered = "jsonpath={.status.conditions[?(@.type=='Available')].status}"
    assert busy.cluster.kubectl("get", "apiservice/v1alpha1.history.platform.example.com", "-o", registered) == "True"
    with new_namespace(busy.admin) as name:
        pass
    busy.admin.wait_gone(NAMESPACE, "", name)
    assert busy.bridge.figure("webapp_bridge_history_waiting") > 0

    busy.postgres.start()
    until(lambda: busy.bridge.figure("webapp_bridge_history_waiting") == 0, 60)
    assert busy.bridge.figure("webapp_bridge_history_dropped_total") == 0
    until(busy.is_complete, 60)
    assert busy.bridge.figure("webapp_bridge_retried_total") == 0, "the outage was nobody else's"
