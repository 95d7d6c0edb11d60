"""A reconcile function in a process of its own, and a sender of events to it."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import urllib3

from functions.dev.controlplane import ControlPlane
from functions.dev.processes import LOOPBACK, Process, ProcessGroup, free_port
from functions.webapp import contract
from functions.webapp.contract import Change
from functions.webapp.resources import DEFAULT_GROUP, DEPLOYMENT, OWNED, SYSTEM_NAMESPACE, Resource, controller
from tests.builders import asking, with_meta
from tests.cluster.admin import WEBAPP, Admin, Raw, until

RECONCILER = f"system:serviceaccount:{SYSTEM_NAMESPACE}:webapp-reconciler"
STRUCTURED = {"content_type": "application/cloudevents+json"}
FUZZ_SECONDS = 30 if os.environ.get("CI") == "true" else 5
"""How long a test of the running function may try what it draws at random."""

_REAL: Any = object()


@dataclass(frozen=True)
class Answer:
    """What the function answered, and the API requests that the audit log has for it, such as `patch deployments`."""

    status: int
    headers: urllib3.HTTPHeaderDict
    body: bytes
    requests: list[str] = field(default_factory=list)

    @property
    def json(self) -> Raw:
        """The body as a JSON object."""
        found: Raw = json.loads(self.body)
        return found

    @property
    def outcome(self) -> str:
        """How the reconcile ended."""
        return str(self.headers.get(contract.ANSWER_OUTCOME))

    @property
    def writes(self) -> list[str]:
        """The requests that could change something."""
        return [each for each in self.requests if not each.startswith("get ")]


class Function:
    """One running `python -m functions.reconcile`."""

    def __init__(self, process: Process, port: int) -> None:
        self.process = process
        self.port = port
        self._http = urllib3.HTTPConnectionPool(LOOPBACK, port, maxsize=32, timeout=30.0, retries=False)

    def request(self, method: str, path: str = "/", body: bytes = b"", **headers: str) -> Answer:
        """One request as it is."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        found = self._http.request(method, path, body=body, headers=named)
        return Answer(found.status, found.headers, found.data)

    def ready(self) -> bool:
        """Whether it serves."""
        try:
            return self.request("GET", "/health/readiness").status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def close(self) -> None:
        """Drop the connections."""
        self._http.close()


@contextmanager
def running(kubeconfig: Path, **environ: str) -> Iterator[Function]:
    """A function that speaks to the API server as the kubeconfig says, on a port of its own."""
    port = free_port()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("WEBAPP_", "OTEL_"))}
    env |= {"KUBECONFIG": str(kubeconfig), "PORT": str(port), **environ}
    with ProcessGroup() as group:
        process = group.start("reconcile", [sys.executable, "-m", "functions.reconcile"], env)
        function = Function(process, port)
        process.wait_until(function.ready)
        yield function
        function.close()


class Sender:
    """Sends events about one WebApp, as a bridge would or as nobody should; `user` is who the function is."""

    def __init__(
        self,
        cluster: ControlPlane,
        admin: Admin,
        namespace: str,
        function: Function,
        *,
        name: str = "web",
        user: str = RECONCILER,
    ) -> None:
        self._cluster = cluster
        self._user = user
        self.admin = admin
        self.namespace = namespace
        self.name = name
        self.function = function

    def apply(self, obj: Raw) -> Raw:
        """Create the WebApp under the sender's name and namespace."""
        return self.admin.create(WEBAPP, with_meta(namespace=self.namespace, name=self.name)(obj))

    def edit(self, **spec: Any) -> Raw:
        """Set fields of the spec as a whole; None removes one."""
        return self.admin.put(WEBAPP, asking(**spec)(self.webapp()))

    def webapp(self) -> Raw:
        """The WebApp as it is now."""
        return self.admin.get(WEBAPP, self.namespace, self.name)

    def child(self, resource: Resource) -> Raw:
        """A child as it is now."""
        return self.admin.get(resource, self.namespace, self.name)

    def children(self) -> dict[str, Raw | None]:
        """All children by kind, None where there is none."""
        return {each.kind: self.admin.find(each, self.namespace, self.name) for each in OWNED}

    def condition(self, type_: str) -> tuple[str, str, str]:
        """Status, reason and message of a condition."""
        conditions = self.webapp().get("status", {}).get("conditions", [])
        found: Raw = next((each for each in conditions if each["type"] == type_), {})
        return found.get("status", ""), found.get("reason", ""), found.get("message", "")

    def snapshot(self) -> Raw:
        """The WebApp and what it owns, as they are now."""
        found = self.webapp()
        everything = [child for each in OWNED for child in self.admin.list(each, self.namespace)]
        owned = [child for child in everything if (controller(child) or {}).get("uid") == found["metadata"]["uid"]]
        return {"webapp": found, "owned": owned}

    def event(
        self,
        snapshot: Raw | None = _REAL,
        *,
        of: Resource = WEBAPP,
        change: Change = Change.MODIFIED,
        uid: str | None = None,
        **data: Any,
    ) -> Raw:
        """An event in structured mode: with the real snapshot, another one, or (None) without."""
        told = self.snapshot() if snapshot is _REAL else snapshot
        if uid is None:
            uid = (told or {"webapp": self.webapp()})["webapp"]["metadata"]["uid"]
        key = {"namespace": self.namespace, "name": self.name, "uid": uid}
        return {
            "specversion": "1.0",
            "id": str(uuid.uuid4()),
            "type": contract.event_type(DEFAULT_GROUP, of.kind, change),
            "source": "//platform.example.com/clusters/tests/platform.example.com/webapps",
            "datacontenttype": "application/json",
            "data": {"webapp": key, "reason": "watch", **({} if told is None else {"snapshot": told}), **data},
        }

    def post(self, event: Raw, path: str = "/", **headers: str) -> Answer:
        """Send one event; the answer comes with the API requests that it cost."""
        before = self._cluster.mark()
        named = {**STRUCTURED, **headers}
        answer = self.function.request("POST", path, json.dumps(event).encode(), **named)
        requests = [_told(each) for each in self._cluster.audit(self._user, before)]
        return Answer(answer.status, answer.headers, answer.body, requests)

    def send(self, snapshot: Raw | None = _REAL, **more: Any) -> Answer:
        """Send an event about the state as it is, or as `snapshot` says."""
        return self.post(self.event(snapshot, **more))

    def settle(self) -> None:
        """Send events until one changes nothing; fails where that takes more than a few.

        Each waits until the Deployment controller has seen the Deployment, so that nothing comes after.
        """
        for _ in range(5):
            until(self._observed)
            if not self.send().writes:
                return
        raise AssertionError(f"still writing: {self.send().writes}")

    def _observed(self) -> bool:
        found = self.admin.find(DEPLOYMENT, self.namespace, self.name)
        return found is None or found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"]

    def deploy(self, obj: Raw) -> Raw:
        """Create the WebApp, reconcile it, wait until its pods serve, reconcile again: a healthy start."""
        self.apply(obj)
        assert self.send().status == 204
        self.wait_available()
        self.settle()
        return self.webapp()

    def wait_available(self) -> None:
        """Wait until the Deployment controller counts every pod as available."""

        def available() -> bool:
            found = self.child(DEPLOYMENT)
            counts, count = found.get("status", {}), found["spec"]["replicas"]
            seen = counts.get("observedGeneration") == found["metadata"]["generation"]
            told = [counts.get(each, 0) for each in ("replicas", "updatedReplicas", "availableReplicas")]
            return seen and told == [count] * 3

        until(available)


def _told(request: Raw) -> str:
    ref = request["objectRef"]
    return f"{request['verb']} {'/'.join(filter(None, (ref['resource'], ref.get('subresource'))))}"
