"""One bridge, wired: which part talks to which, how it starts, how it is judged, how it ends."""

from __future__ import annotations

import logging
import random
import threading
import time
from typing import Final

from opentelemetry.trace import NoOpTracer, Tracer

from event_bridge import allocator
from event_bridge.backoff import Backoff
from event_bridge.bridge import Bridge, Scope
from event_bridge.dispatch import Dispatcher
from event_bridge.figures import Figures
from event_bridge.history import History
from event_bridge.lease import Election, Lease
from event_bridge.publish import Publisher
from event_bridge.sender import Sender
from event_bridge.settings import Settings
from event_bridge.sink import Sink
from event_bridge.watch import Watch
from functions.runtime.credentials import Credentials
from functions.runtime.health import Checks, HealthServer
from functions.runtime.kube import Api, Call
from functions.webapp.contract import Cause
from functions.webapp.errors import ApiError
from functions.webapp.resources import Resource

NAMESPACE: Final = Resource("", "v1", "Namespace", "namespaces")
DRAIN_SECONDS: Final = 20.0
"""How long requests in flight may take once the process was told to end; a pod has 30 s in all."""

HISTORY_SECONDS: Final = 3.0
"""So long the history may take after that, whatever the requests took."""

BACKOFF: Final = Backoff(0.5, 30.0)
_log = logging.getLogger("event_bridge")


class Process:
    """Everything that runs; `start` returns once it runs, `stop` once nothing does."""

    def __init__(self, settings: Settings, credentials: Credentials, tracer: Tracer) -> None:
        self._settings = settings
        self._tracer = tracer
        self._figures = Figures(kind.kind for kind in settings.kinds)
        scopes: list[Scope] = [
            (kind, namespace) for kind in settings.kinds for namespace in settings.namespaces or ("",)
        ]
        self._api = Api(credentials, NoOpTracer(), connections=len(scopes) + 2, user_agent="webapp-bridge")
        self._bridge = Bridge(scopes, concurrency=settings.concurrency, figures=self._figures)
        self._lease = Lease(settings.lease, self._api) if settings.lease else None
        self._election: Election | None = None
        self._sink = Sink(settings.sink, allowed=self._allowed) if settings.sink else None
        self._history = _history(settings, self._figures)
        self._dispatcher: Dispatcher | None = None
        self._publisher: Publisher | None = None
        self._ending = threading.Event()
        self._watches = [Watch(scope, self._api, self._bridge, self._figures, settings) for scope in scopes]
        orders = {"/resend": lambda query: {"resent": self._bridge.resend(query.get("webapp", ""))}}
        checks = Checks(self._complaints, self._metrics, self._complaints_of_life, orders)
        self._health = HealthServer(checks, settings.health)

    def start(self) -> None:
        """Fill the cache, learn who this cluster is, then lead or stand by."""
        self._health.start()
        for watch in self._watches:
            watch.start()
        if self._sink is None:
            _log.error("K_SINK is not set: nothing is sent; bind this Deployment to its sink (SinkBinding), or set it")
            return
        if self._history:
            self._history.start()
        threading.Thread(target=self._run, args=(self._sink,), name="resync", daemon=True).start()

    def stop(self) -> None:
        """Take nothing more, let what is in flight finish, hand over the lease, end."""
        ends = time.monotonic() + DRAIN_SECONDS
        self._ending.set()
        if self._dispatcher:
            self._dispatcher.stop(DRAIN_SECONDS)
        if self._election and self._lease:
            self._election.stop()
            try:
                self._lease.release()
            except ApiError as error:
                _log.warning("the lease was not released and has to expire", extra={"fields": {"error": str(error)}})
        if self._history and self._sink:
            self._history.stop(max(HISTORY_SECONDS, ends - time.monotonic()))
        if self._publisher:
            self._publisher.close()
        for watch in self._watches:
            watch.stop()
        if self._sink:
            self._sink.rest()

    def _run(self, sink: Sink) -> None:
        cluster = self._settings.cluster or self._cluster()
        if self._ending.is_set():
            return
        snapshot = self._bridge.snapshot
        self._publisher = Publisher(self._settings, sink, self._tracer, cluster=cluster, snapshot=snapshot)
        send = Sender(self._bridge, self._publisher, self._figures, self._history)
        self._dispatcher = Dispatcher(self._bridge, send, self._rest, limit=self._settings.concurrency)
        self._dispatcher.start()
        if self._lease and self._settings.lease:
            self._election = Election(
                self._lease, self._settings.lease, self._bridge.lead, self._figures.transitions.inc
            )
            self._election.start()
        else:
            self._bridge.lead(leading=True)
        every = self._settings.resync_seconds
        while not self._ending.wait(every):
            self._bridge.announce(Cause.RESYNC, str(int(time.time() // every)))

    def _rest(self) -> None:
        if self._sink:
            self._sink.rest()
        allocator.give_back()

    def _cluster(self) -> str:
        """The uid of namespace kube-system, which stands for the cluster; waits until it can be read."""
        failures = 0
        while not self._ending.is_set():
            try:
                return str(self._api.send(Call("GET", NAMESPACE, name="kube-system"))["metadata"]["uid"])
            except ApiError as error:
                failures += 1
                if failures == 1:
                    told = "namespace kube-system cannot be read: allow `get` on it, or set WEBAPP_CLUSTER"
                    _log.warning(told, extra={"fields": {"error": str(error)[:300]}})
                self._ending.wait(BACKOFF.seconds(failures, random.random()))  # noqa: S311 - jitter
        return ""

    def _allowed(self) -> bool:
        return self._lease is None or self._lease.holds

    def _complaints_of_life(self) -> list[str]:
        found = [f"the watch of {watch.resource.plural} does not move" for watch in self._watches if not watch.is_well]
        if self._election and not self._election.is_alive() and not self._ending.is_set():
            found.append("nobody renews the lease")
        return found

    def _complaints(self) -> list[str]:
        found = [watch.failure for watch in self._watches if watch.failure]
        found += [f"{scope[0].plural} are not listed yet" for scope in list(self._bridge.unsynced)]
        if not self._settings.sink:
            found.append("K_SINK is not set")
        elif self._publisher is None:
            found.append("the uid of namespace kube-system is not known yet")
        if self._election and self._election.failure:
            found.append(self._election.failure)
        return found

    def _metrics(self) -> bytes:
        figures, bridge, now = self._figures, self._bridge, time.monotonic()
        with bridge.lock:
            waiting = [backlog.since for backlog in bridge.queue.waiting()]
            figures.parked_now.set(len(bridge.queue.parked()))
            figures.in_flight.set(bridge.queue.in_flight)
            figures.leader.set(bridge.leading)
            figures.synced.set(not bridge.unsynced)
        figures.depth.set(len(waiting))
        figures.history_waiting.set(self._history.depth if self._history else 0)
        figures.oldest.set(max(0.0, now - min(waiting, default=now)))
        for kind in self._settings.kinds:
            ages = [watch.silence for watch in self._watches if watch.resource == kind]
            figures.watch_age(kind.kind, max(ages))
        return figures.page()


def _history(settings: Settings, figures: Figures) -> History | None:
    wanted = settings.history
    if wanted is None:
        return None
    sink = Sink(wanted.destination, allowed=lambda: True)
    return History(sink, figures, most_events=wanted.most_events, most_bytes=wanted.most_bytes)
