"""No change is lost, and nothing is made twice or deleted without need, whatever dies in between."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from functions.dev.controlplane import ControlPlane
from functions.dev.operator import Operator
from functions.dev.processes import ProcessGroup, free_port
from functions.webapp.errors import ApiError
from functions.webapp.resources import DEPLOYMENT, INGRESS, OWNED, SERVICE
from tests.builders import webapp, with_meta
from tests.cluster.admin import WEBAPP, Admin, until
from tests.faults.relay import Relay

CI = os.environ.get("CI") == "true"
WEBAPPS = 100 if CI else 20
SECONDS = 30.0 if CI else 10.0
KILLS = 5 if CI else 2
NAMESPACE = "default"


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    """A control plane of its own: its API server is restarted and its etcd compacted."""
    with ControlPlane() as found:
        found.install()
        yield found


class Chaos:
    """Kills and restarts bridge and function, restarts the API server, compacts etcd: each in its turn."""

    def __init__(self, plane: ControlPlane, processes: ProcessGroup, relay: Relay | None) -> None:
        self._plane = plane
        self._processes = processes
        self._relay = relay
        self._port = free_port()
        self._operator = Operator(plane, processes)
        self._start_function()
        self._start_bridge()

    def run(self) -> None:
        """Spread over the time of the edits."""
        pause = SECONDS / (2 * KILLS + 2)
        for turn in range(KILLS):
            time.sleep(pause)
            self._kill("bridge")
            self._start_bridge()
            time.sleep(pause)
            self._kill("function")
            self._start_function()
            if turn == KILLS // 2:
                self._plane.stop_apiserver()
                self._plane.start_apiserver()
        self._plane.compact()

    def _kill(self, name: str) -> None:
        """Kill -9 a process with its children, as the end of a container does."""
        pid = self._processes[name].pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        for each in [pid, *map(int, children)]:
            os.kill(each, signal.SIGKILL)
        self._processes[name].wait(10)

    def _start_function(self) -> None:
        self.url = self._operator.start_function({"WEBAPP_LOG_LEVEL": "ERROR"}, port=self._port)

    def _start_bridge(self) -> None:
        sink = self._relay.url if self._relay else self.url
        self._operator.start_bridge(sink, {"WEBAPP_LOG_LEVEL": "ERROR", "BRIDGE_LEASE": "false"})


def edits(admin: Admin, stop: threading.Event, seed: int) -> Iterator[None]:
    """Random edits of random WebApps, repeated until the API server has taken each."""
    chance = random.Random(seed)
    while not stop.is_set():
        name = f"web-{chance.randrange(WEBAPPS)}"
        change = chance.choice(
            [
                {"image": f"image:{chance.randrange(10_000)}"},
                {"replicas": chance.randrange(4)},
                {"port": chance.randrange(1, 9000)},
                {"host": chance.choice([None, f"{name}.example.com", f"{name}.example.org"])},
            ]
        )
        while not stop.is_set():
            try:
                admin.merge(WEBAPP, NAMESPACE, name, {"spec": change})
                break
            except ApiError:
                time.sleep(0.2)
        yield


def wrong(admin: Admin) -> list[str]:
    """What does not equal the last spec of its WebApp; empty at the end of the story."""
    children = {kind: {each["metadata"]["name"]: each for each in admin.list(kind, NAMESPACE)} for kind in OWNED}
    return [
        f"{owner['metadata']['name']}: {problem}"
        for owner in admin.list(WEBAPP, NAMESPACE)
        for problem in differences(owner, {kind: children[kind].get(owner["metadata"]["name"]) for kind in OWNED})
    ]


def differences(owner: dict[str, Any], children: dict[Any, Any]) -> Iterator[str]:
    spec, deployment, service = owner["spec"], children[DEPLOYMENT], children[SERVICE]
    if deployment is None or service is None:
        yield "a child is missing"
        return
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    seen = {
        "image": container["image"],
        "replicas": deployment["spec"]["replicas"],
        "port": service["spec"]["ports"][0]["port"],
        "containerPort": container["ports"][0]["containerPort"],
        "host": children[INGRESS] and children[INGRESS]["spec"]["rules"][0]["host"],
    }
    wanted = {**{key: spec.get(key) for key in seen}, "containerPort": spec["port"]}
    if seen != wanted:
        yield f"{seen} is not {wanted}"
    if owner.get("status", {}).get("observedGeneration") != owner["metadata"]["generation"]:
        yield "the status is of an older generation"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("twice", [False, True], ids=["each event once", "each event twice, and old ones between"])
def test_every_child_ends_as_its_webapps_last_spec_says_and_is_still_the_same_object(plane, twice):
    admin = Admin(plane.kubeconfig)
    with ExitStack() as stack:
        processes = stack.enter_context(ProcessGroup())
        relay = stack.enter_context(Relay("", seed=7)) if twice else None
        chaos = Chaos(plane, processes, relay)
        if relay:
            relay.target = chaos.url
        for number in range(WEBAPPS):
            admin.create(WEBAPP, webapp(with_meta(name=f"web-{number}"), namespace=NAMESPACE))
        until(lambda: not wrong(admin), 120)
        kept = {each["metadata"]["uid"] for kind in (DEPLOYMENT, SERVICE) for each in admin.list(kind, NAMESPACE)}
        stop = threading.Event()
        made: list[None] = []
        editor = threading.Thread(target=lambda: made.extend(edits(admin, stop, seed=11)))
        editor.start()
        try:
            chaos.run()
        finally:
            stop.set()
            editor.join()
        until(lambda: not wrong(admin), 180)
        assert len(made) > WEBAPPS
        assert relay is None or relay.again > 2 * WEBAPPS
        now = {each["metadata"]["uid"] for kind in (DEPLOYMENT, SERVICE) for each in admin.list(kind, NAMESPACE)}
        assert now - {plane_service(admin)} == kept - {plane_service(admin)}


def plane_service(admin: Admin) -> str:
    """The API server's own Service, which is in the namespace too."""
    return str(admin.get(SERVICE, NAMESPACE, "kubernetes")["metadata"]["uid"])
