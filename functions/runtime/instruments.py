"""The functions' metrics, pushed by OTLP: a scrape would miss pods that come and go.

Every label set is known beforehand and starts at 0, so that a rate over it is right from the first event on. Objects'
names are never labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version

from opentelemetry.metrics import MeterProvider, NoOpMeterProvider

from functions.runtime.names import Metric
from functions.runtime.telemetry import PACKAGE, endpoint, resource

_EXPORT_TIMEOUT_SECONDS = 2
_EXPORT_INTERVAL_MILLIS = 10_000
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_CONVERGENCE = (1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_ATTEMPTS = (1.0, 2.0, 3.0, 5.0)


def provider(service: str, environ: Mapping[str, str]) -> tuple[MeterProvider, Callable[[], None]]:
    """The meter provider of one process, and how it is shut down; without an endpoint both do nothing."""
    if not endpoint(environ, "METRICS"):
        return NoOpMeterProvider(), lambda: None
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415 - 5 MiB
    from opentelemetry.sdk.metrics import MeterProvider as Provider  # noqa: PLC0415 - as above
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415 - as above

    exporter = OTLPMetricExporter(timeout=_EXPORT_TIMEOUT_SECONDS)
    interval = float(environ.get("OTEL_METRIC_EXPORT_INTERVAL") or _EXPORT_INTERVAL_MILLIS)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=interval)
    made = Provider([reader], resource(service, environ), shutdown_on_exit=False)
    return made, made.shutdown


class Instruments:
    """Everything that the reconcile function measures; names in `names.Metric`, durations in seconds."""

    def __init__(self, meters: MeterProvider) -> None:
        meter = meters.get_meter(PACKAGE, version(PACKAGE))
        self.server = meter.create_histogram(Metric.HTTP_SERVER, "s", explicit_bucket_boundaries_advisory=_SECONDS)
        self.client = meter.create_histogram(Metric.HTTP_CLIENT, "s", explicit_bucket_boundaries_advisory=_SECONDS)
        self.process = meter.create_histogram(Metric.PROCESS, "s", explicit_bucket_boundaries_advisory=_SECONDS)
        self.reconcile = meter.create_histogram(Metric.RECONCILE, "s", explicit_bucket_boundaries_advisory=_SECONDS)
        self.attempts = meter.create_histogram(Metric.ATTEMPTS, "1", explicit_bucket_boundaries_advisory=_ATTEMPTS)
        self.conflicts = meter.create_counter(Metric.CONFLICTS, "1")
        self.convergence = meter.create_histogram(
            Metric.CONVERGENCE, "s", explicit_bucket_boundaries_advisory=_CONVERGENCE
        )
        self.coldstarts = meter.create_counter(Metric.COLDSTARTS, "1")
        self.init = meter.create_histogram(Metric.INIT, "s", explicit_bucket_boundaries_advisory=_SECONDS)
