"""Spans that go to a collector by OTLP, and who speaks there. Imported where an endpoint is set: the SDK is heavy."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from functions.runtime import telemetry
from functions.runtime.sampling import LinkAware
from functions.runtime.settings import read, share

_EXPORT_TIMEOUT_SECONDS = 2
_FAAS = {"faas.name": "K_SERVICE", "faas.version": "K_REVISION", "faas.instance": "HOSTNAME"}


class Recorded(TracerProvider):
    """A provider whose `shutdown` takes 1 s at most."""

    @classmethod
    def load(cls, service: str, environ: Mapping[str, str]) -> Recorded:
        """As the standard OTEL_* variables say; raises SettingsError."""
        sampler = LinkAware(read(environ, "OTEL_TRACES_SAMPLER_ARG", share, 1.0))
        made = cls(resource=resource(service, environ), sampler=sampler, shutdown_on_exit=False)
        made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=_EXPORT_TIMEOUT_SECONDS)))
        return made

    def shutdown(self) -> None:
        """Hand over what is still buffered."""
        telemetry.close(super().shutdown)


def resource(service: str, environ: Mapping[str, str]) -> Resource:
    """Who speaks: service and, under Knative, the function, its revision and pod."""
    return Resource.create(
        {
            "service.name": environ.get("OTEL_SERVICE_NAME") or service,
            "service.namespace": "webapp",
            "service.version": version(telemetry.PACKAGE),
            **{key: environ[name] for key, name in _FAAS.items() if environ.get(name)},
        }
    )
