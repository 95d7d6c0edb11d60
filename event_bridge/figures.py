"""The bridge's Prometheus metrics. Every label value is there from the start, at 0; no object is ever named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from event_bridge.mapping import Decision
from functions.runtime.names import Metric

EVENTS: Final = ("ADDED", "MODIFIED", "DELETED", "LIST")
RESTARTS: Final = ("ended", "expired", "relist", "silent", "broken", "unavailable", "forbidden", "not_found")
ANSWERS: Final = ("2xx", "3xx", "4xx", "5xx", "connect", "timeout", "broken", "tls")
DROPS: Final = ("overflow", "refused")
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Figures:
    """What is counted, in a registry of its own."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self._registry = registry = CollectorRegistry()
        kinds = list(kinds)
        events = Counter(Metric.WATCH_EVENTS, "Objects seen", ["kind", "type", "decision"], registry=registry)
        self._seen = {
            (kind, event, decision): events.labels(kind, event, decision.value)
            for kind in kinds
            for event in EVENTS
            for decision in Decision
        }
        self._restarts = Counter(Metric.WATCH_RESTARTS, "Watches opened again", ["kind", "reason"], registry=registry)
        self._age = Gauge(Metric.WATCH_AGE, "Seconds since a watch last said something", ["kind"], registry=registry)
        for kind in kinds:
            self._age.labels(kind)
            for reason in RESTARTS:
                self._restarts.labels(kind, reason)
        self.coalesced = Counter(Metric.COALESCED, "Changes that joined one that waited already", registry=registry)
        self.repaired = Counter(Metric.REPAIRED, "Differences that only a consistency relist found", registry=registry)
        self._sent = Counter(Metric.SENT, "Deliveries by answer", ["answer"], registry=registry)
        for answer in ANSWERS:
            self._sent.labels(answer)
        self.retried = Counter(Metric.RETRIED, "Deliveries that will be tried again", registry=registry)
        self.parked = Counter(Metric.PARKED, "Events that the sink will never take", registry=registry)
        self.parked_now = Gauge(Metric.PARKED_NOW, "WebApps whose last event is parked", registry=registry)
        self.depth = Gauge(Metric.QUEUE_DEPTH, "WebApps that wait to be announced", registry=registry)
        self.oldest = Gauge(Metric.OLDEST_PENDING, "Age of the oldest change that waits", registry=registry)
        self.in_flight = Gauge(Metric.IN_FLIGHT, "Requests in flight", registry=registry)
        self.latency = Histogram(
            Metric.CHANGE_TO_ACK, "From seeing a change to its acknowledgement", buckets=_BUCKETS, registry=registry
        )
        self._recorded = Counter(
            Metric.HISTORY_SENT, "Finished reconciles sent to the history sink", ["answer"], registry=registry
        )
        for answer in ANSWERS:
            self._recorded.labels(answer)
        self._unrecorded = Counter(
            Metric.HISTORY_DROPPED, "Finished reconciles that the history will lack", ["reason"], registry=registry
        )
        for reason in DROPS:
            self._unrecorded.labels(reason)
        self.history_waiting = Gauge(
            Metric.HISTORY_WAITING, "Finished reconciles that wait for the history sink", registry=registry
        )
        self.leader = Gauge(Metric.LEADER, "1 while this process sends", registry=registry)
        self.transitions = Counter(Metric.LEASE_TRANSITIONS, "Changes of the leader seen", registry=registry)
        self.synced = Gauge(Metric.SYNCED, "1 once every kind was listed", registry=registry)

    def seen(self, kind: str, event: str, decision: Decision) -> None:
        """Count one object of a list or a watch."""
        self._seen[kind, event, decision].inc()

    def restarted(self, kind: str, reason: str) -> None:
        """Count a watch that has to be opened again."""
        self._restarts.labels(kind, reason).inc()

    def answered(self, answer: str) -> None:
        """Count an answer, or that none came."""
        self._sent.labels(answer).inc()

    def recorded(self, answer: str) -> None:
        """Count an answer of the history sink, or that none came."""
        self._recorded.labels(answer).inc()

    def unrecorded(self, reason: str) -> None:
        """Count a finished reconcile that is given up."""
        self._unrecorded.labels(reason).inc()

    def watch_age(self, kind: str, seconds: float) -> None:
        """Tell how long a watch has been silent."""
        self._age.labels(kind).set(seconds)

    def page(self) -> bytes:
        """The metrics as Prometheus reads them."""
        return generate_latest(self._registry)
