"""The webhook's Prometheus metrics; no label is ever a token, a user or an address."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from functions.authn.breaker import State
from functions.authn.gate import Source
from functions.authn.verdict import Fault
from functions.runtime.names import Metric

OUTCOMES = ("authenticated", "refused", "unavailable")
CALL_RESULTS = ("active", "inactive")
OURS = (Fault.CIRCUIT_OPEN, Fault.BULKHEAD, Fault.RATE_LIMIT, Fault.CROWDED)
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0)
_STATES = {State.CLOSED: 0, State.HALF_OPEN: 1, State.OPEN: 2}


class Measures:
    """Every label set is known beforehand and starts at 0."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.decisions = Counter(
            Metric.AUTHN_DECISIONS, "TokenReviews answered", ["outcome", "source"], registry=registry
        )
        self.calls = Counter(Metric.AUTHN_CALLS, "Calls to the identity provider", ["result"], registry=registry)
        self.seconds = Histogram(
            Metric.AUTHN_CALL_SECONDS, "Duration of those calls", buckets=_SECONDS, registry=registry
        )
        self.throttled = Counter(
            Metric.AUTHN_THROTTLED, "Calls that were not made, by what stood in the way", ["by"], registry=registry
        )
        self.stale = Counter(Metric.AUTHN_STALE, "Known tokens served without the provider", registry=registry)
        self.turns = Counter(Metric.AUTHN_BREAKER_TURNS, "Changes of the breaker's state", ["to"], registry=registry)
        self.dropped = Counter(Metric.AUTHN_DROPPED_GROUPS, "Groups not passed on for their names", registry=registry)
        self.rejected = Counter(
            Metric.AUTHN_REJECTED, "Requests that were no TokenReview of a known caller", ["why"], registry=registry
        )
        self._registry = registry
        self._begin()

    def watch(self, state: Callable[[], State], remembered: Callable[[], int]) -> None:
        """Show the breaker's state and the number of cached verdicts whenever somebody looks."""
        breaker = Gauge(Metric.AUTHN_BREAKER, "Breaker: 0 closed, 1 half-open, 2 open", registry=self._registry)
        breaker.set_function(lambda: _STATES[state()])
        Gauge(Metric.AUTHN_CACHE, "Verdicts in the cache", registry=self._registry).set_function(remembered)

    def _begin(self) -> None:
        for outcome in OUTCOMES:
            for source in Source:
                self.decisions.labels(outcome, source)
        for result in (*CALL_RESULTS, *(fault for fault in Fault if fault not in OURS)):
            self.calls.labels(result)
        for fault in OURS:
            self.throttled.labels(fault)
        for state in State:
            self.turns.labels(state)
        for why in ("caller", "body"):
            self.rejected.labels(why)
