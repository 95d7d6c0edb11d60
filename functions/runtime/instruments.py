"""The functions' metrics, pushed by OTLP: a scrape would miss pods that come and go.

Every label set is known beforehand and starts at 0, so that a rate over it is right from the first event on. Objects'
names are never labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

from opentelemetry.metrics import Histogram, MeterProvider, NoOpMeterProvider

from functions.runtime.names import Metric
from functions.runtime.telemetry import PACKAGE, endpoint

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

    from functions.runtime.recorded import resource  # noqa: PLC0415 - as above

    exporter = OTLPMetricExporter(timeout=_EXPORT_TIMEOUT_SECONDS)
    interval = float(environ.get("OTEL_METRIC_EXPORT_INTERVAL") or _EXPORT_INTERVAL_MILLIS)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=interval)
    made = Provider([reader], resource(service, environ), shutdown_on_exit=False)
    return made, made.shutdown


class Instruments:
    """Everything that the reconcile function measures; durations in seconds. The descriptions name the labels."""

    def __init__(self, meters: MeterProvider) -> None:
        meter = meters.get_meter(PACKAGE, None if isinstance(meters, NoOpMeterProvider) else version(PACKAGE))

        def durations(name: str, description: str, buckets: Sequence[float] = _SECONDS) -> Histogram:
            return meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=buckets)

        self.server = durations(Metric.HTTP_SERVER, "Requests, by method, route and status")
        self.client = durations(Metric.HTTP_CLIENT, "Kubernetes API calls, by method, template, status and error")
        self.process = durations(Metric.PROCESS, "Events, by type and error")
        self.reconcile = durations(Metric.RECONCILE, "Reconciles, by cause, outcome and error")
        self.convergence = durations(Metric.CONVERGENCE, "From a change of the spec to Ready, by change", _CONVERGENCE)
        self.init = durations(Metric.INIT, "From the start of the process to its first request, by trigger")
        self.attempts = meter.create_histogram(
            Metric.ATTEMPTS, "1", "Plans made in one reconcile", explicit_bucket_boundaries_advisory=_ATTEMPTS
        )
        self.conflicts = meter.create_counter(Metric.CONFLICTS, "1", "Writes that met a newer object, by its kind")
        self.coldstarts = meter.create_counter(Metric.COLDSTARTS, "1", "Processes started, by trigger")
