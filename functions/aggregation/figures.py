"""What an aggregated API counts, on `/metrics` of the health port. Names of objects and users are never labels."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from functions.runtime.names import Metric

_CODES = (200, 400, 401, 403, 404, 406, 410, 429, 503)
_VERBS = ("get", "list", "watch")


class Figures:
    """Label sets that are to be expected start at 0, so that a rate over them is right from the first event on."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            Metric.AGGREGATION_REQUESTS, "Requests, by verb and status.", ("verb", "code"), registry=registry
        )
        self.watches = Gauge(Metric.AGGREGATION_WATCHES, "Watches that run.", registry=registry)
        self.poll_errors = Counter(
            Metric.AGGREGATION_POLL_ERRORS, "Questions for changes that got no answer.", registry=registry
        )
        for verb in _VERBS:
            for code in _CODES:
                self._requests.labels(verb, str(code))

    def count(self, verb: str, code: int) -> None:
        """One request; `verb` is get, list or watch of a resource, or `other`."""
        self._requests.labels(verb, str(code)).inc()
