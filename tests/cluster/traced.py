"""Bridge and function in this process, wired by real HTTP, against the real API server; every span is kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import urllib3
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer
from werkzeug.serving import make_server

from event_bridge import settings as bridge_settings
from event_bridge.answer import Answer
from event_bridge.backlog import Delivery, News
from event_bridge.pruning import Pruner, with_version
from event_bridge.publish import Publisher
from event_bridge.sink import Sink
from functions.dev.processes import LOOPBACK
from functions.reconcile.app import create_app
from functions.reconcile.session import Means
from functions.reconcile.settings import Settings
from functions.runtime import credentials, kube, recorded, telemetry
from functions.runtime.kube import Call
from functions.runtime.sampling import LinkAware
from functions.runtime.startup import Startup
from functions.webapp.contract import Cause, Change, Notice, ObjectRef
from functions.webapp.errors import NotFound
from functions.webapp.resources import OWNED, Resource, meta_text
from tests import golden_tree
from tests.cluster.admin import WEBAPP, Admin, Raw

NAME = "web"


class Stage:
    """One WebApp `web` in a namespace of its own, and events about it as the bridge would send them."""

    def __init__(self, admin: Admin, namespace: str, kubeconfig: Path, folder: Path, share: float = 1.0) -> None:
        self.admin, self.namespace = admin, namespace
        self.kept = InMemorySpanExporter()
        self._share = share
        self._kubeconfig, self._folder = kubeconfig, folder
        self.before: Callable[[Call], None] = lambda _call: None
        """Called before each API call of the function: room for somebody to be quicker."""

    def tracer(self, service: str) -> Tracer:
        """As a process would make it, but with an exporter that keeps everything here."""
        made = TracerProvider(sampler=LinkAware(self._share), resource=recorded.resource(service, {}))
        made.add_span_processor(SimpleSpanProcessor(self.kept))
        return telemetry.tracer(made)

    @contextmanager
    def running(self, *, server: str = "", cold: bool = False) -> Iterator[None]:
        """Serve the function; `server` is an API server to ask instead of the real one."""
        who = credentials.load({"KUBECONFIG": str(self._kubeconfig)})
        tracer = self.tracer("webapp-reconcile")
        api = kube.Api(replace(who, server=server or who.server), tracer, connections=2, user_agent="tests")
        means = Means(_Beset(api, self), WEBAPP, tracer, sleep=lambda _seconds: None)
        startup = Startup()
        for phase in ("import", "settings", "app"):
            startup.reached(phase)
        link = startup.finish(tracer, "webapp-reconcile")
        http = make_server(LOOPBACK, 0, create_app(Settings.load({}), means, link), threaded=True)
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        self.url = f"http://{LOOPBACK}:{http.server_port}/"
        parked = str(self._folder / "parked.jsonl")
        settings = bridge_settings.load({"K_SINK": self.url, "BRIDGE_PARKING_FILE": parked, "BRIDGE_LEASE": "false"})
        assert settings.sink is not None
        sink = Sink(settings.sink, allowed=lambda: True)
        tracer = self.tracer("webapp-bridge")
        self._publisher = Publisher(settings, sink, tracer, cluster="CLUSTER", snapshot=lambda _uid: self.snapshot)
        try:
            if not cold:
                self.post(b"")
                self.kept.clear()
            yield
        finally:
            self._publisher.close()
            sink.rest()
            http.shutdown()
            thread.join()
            http.server_close()
            api.close()

    def post(self, body: bytes, **headers: str) -> urllib3.BaseHTTPResponse:
        """What curl would send."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return urllib3.request("POST", self.url, body=body, headers=named, retries=False)

    def apply(self, **spec: Any) -> Raw:
        """Create the WebApp."""
        meta = {"name": NAME, "namespace": self.namespace}
        spec = {"image": "nginx:1.27", **spec}
        return self.admin.create(
            WEBAPP, {"apiVersion": WEBAPP.api_version, "kind": WEBAPP.kind, "metadata": meta, "spec": spec}
        )

    def look(self, resource: Resource = WEBAPP) -> Raw:
        """The WebApp or one of its children as it is now."""
        return self.admin.get(resource, self.namespace, NAME)

    def publish(
        self, change: Change, obj: Raw | None = None, of: Resource = WEBAPP, *, seen: tuple[Any, ...] | None = None
    ) -> Answer:
        """Publish that an object changed, with a snapshot of what is there now, or of what was `seen` before."""
        obj = obj or self.look(of)
        pruned = Pruner(of, WEBAPP).prune(obj)
        ref = ObjectRef(of, pruned.namespace, pruned.name, pruned.uid, pruned.version)
        self.snapshot = seen or self.state()
        now = time.monotonic()
        news = News(Notice(pruned.key, ref, change, Cause.WATCH), now, pruned.stamp)
        return self._publisher.send(Delivery(str(pruned.key), news, 1, now, 0, urgent=True, probe=False, epoch=0))

    def state(self) -> tuple[bytes | None, list[bytes]]:
        """What the bridge would have in its cache now."""
        found: list[bytes] = []
        for resource in (WEBAPP, *OWNED):
            try:
                obj = self.look(resource)
            except NotFound:
                continue
            pruned = Pruner(resource, WEBAPP).prune(obj)
            if pruned.text:
                found.append(with_version(pruned.text, meta_text(obj, "resourceVersion")))
        return (found[0], found[1:]) if found else (None, [])

    def settled(self) -> None:
        """Reconcile until the status says Ready, and forget the spans of it."""
        for _ in range(50):
            self.publish(Change.MODIFIED)
            conditions = self.look().get("status", {}).get("conditions", [])
            if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
                break
            time.sleep(0.1)
        else:
            raise AssertionError(f"not ready: {conditions}")
        self.kept.clear()

    def tree(self) -> str:
        """Everything that was recorded since the last look, as a golden file has it."""
        text = golden_tree.rendered(golden_tree.of(self.kept.get_finished_spans()), self.namespace)
        self.kept.clear()
        return text


class _Beset:
    """The API as the function sees it, with somebody else at work."""

    def __init__(self, api: kube.Api, stage: Stage) -> None:
        self._api, self._stage = api, stage

    def send(self, call: Call, *, timeout: float = kube.READ_SECONDS, attempt: int = 1) -> dict[str, Any]:
        self._stage.before(call)
        return self._api.send(call, timeout=timeout, attempt=attempt)
