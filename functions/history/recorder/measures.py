"""What the recorder measures, pushed by OTLP; durations in seconds. The descriptions name the labels."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from opentelemetry.metrics import MeterProvider

from functions.runtime.names import Attr, Metric
from functions.runtime.telemetry import PACKAGE

RECORDED: Final = "recorded"
DUPLICATE: Final = "duplicate"
IGNORED: Final = "ignored"
REFUSED: Final = "refused"
NOT_RECORDED: Final = "not_recorded"
RESULTS: Final = (RECORDED, DUPLICATE, IGNORED, REFUSED, NOT_RECORDED)

DELETED: Final = "deleted"
REMOVED: Final = "removed"

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SIZES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)


class Measures:
    """Every label set of a counter is known beforehand and starts at 0."""

    def __init__(self, meters: MeterProvider) -> None:
        meter = meters.get_meter(PACKAGE, version(PACKAGE))
        self.server = meter.create_histogram(
            Metric.HTTP_SERVER,
            "s",
            "Requests, by method, route and status",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self.commit = meter.create_histogram(
            Metric.HISTORY_COMMIT,
            "s",
            "Transactions that write events, by error",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self.batch = meter.create_histogram(
            Metric.HISTORY_BATCH,
            "1",
            "Events in one transaction",
            explicit_bucket_boundaries_advisory=_SIZES,
        )
        self.events = meter.create_counter(Metric.HISTORY_EVENTS, "1", "Events received, by what came of them")
        self.pruned = meter.create_counter(Metric.HISTORY_PRUNED, "1", "Rows that retention marked or removed")
        for result in RESULTS:
            self.count(result, 0)
        for what in (DELETED, REMOVED):
            self.prune(what, 0)

    def count(self, result: str, events: int) -> None:
        """Count events by one of RESULTS."""
        self.events.add(events, {Attr.HISTORY_RESULT: result})

    def prune(self, what: str, rows: int) -> None:
        """Count rows, DELETED or REMOVED."""
        self.pruned.add(rows, {Attr.HISTORY_RESULT: what})
