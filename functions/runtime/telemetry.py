"""Tracing: providers, propagation, and how a span is told to have failed.

Providers are passed, never global. Without an endpoint there is no exporter and spans are not recorded, but they
still carry ids, so that answers and logs can name a trace. Telemetry never changes an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Span, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from functions.runtime.names import Attr
from functions.runtime.sampling import LinkAware
from functions.runtime.settings import read, share

PACKAGE = "webapp-operator"
_propagator = TraceContextTextMapPropagator()
_EXPORT_TIMEOUT_SECONDS = 2
_FAAS = {"faas.name": "K_SERVICE", "faas.version": "K_REVISION", "faas.instance": "HOSTNAME"}


def provider(service: str, environ: Mapping[str, str]) -> TracerProvider:
    """The tracer provider of one process; the standard OTEL_* variables configure it.

    `OTEL_TRACES_SAMPLER_ARG` is the share of new traces that are recorded (1.0). Call `shutdown()` at the end: it hands
    over what is still buffered.
    """
    if not endpoint(environ, "TRACES"):
        return TracerProvider(resource=resource(service, environ), sampler=ALWAYS_OFF, shutdown_on_exit=False)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - 5 MiB
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above

    sampler = LinkAware(read(environ, "OTEL_TRACES_SAMPLER_ARG", share, 1.0))
    made = TracerProvider(resource=resource(service, environ), sampler=sampler, shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=_EXPORT_TIMEOUT_SECONDS)))
    return made


def endpoint(environ: Mapping[str, str], signal: str) -> str:
    """Where a signal (TRACES, METRICS) goes by OTLP over HTTP; "" is nowhere."""
    return environ.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT") or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or ""


def resource(service: str, environ: Mapping[str, str]) -> Resource:
    """Who speaks: service and, under Knative, the function, its revision and pod."""
    return Resource.create(
        {
            "service.name": environ.get("OTEL_SERVICE_NAME") or service,
            "service.namespace": "webapp",
            "service.version": version(PACKAGE),
            **{key: environ[name] for key, name in _FAAS.items() if environ.get(name)},
        }
    )


def tracer(made: TracerProvider) -> Tracer:
    """The project's tracer of a provider."""
    return made.get_tracer(PACKAGE, version(PACKAGE))


def inject(headers: dict[str, str], span: Span) -> dict[str, str]:
    """`headers` with `traceparent` (and `tracestate`) of the span."""
    from opentelemetry.trace import set_span_in_context  # noqa: PLC0415

    _propagator.inject(headers, context=set_span_in_context(span, Context()))
    return headers


def extract(headers: Mapping[str, str]) -> Context:
    """The remote context that a caller sent; empty where it sent none or a malformed one."""
    return _propagator.extract(headers, context=Context())


def trace_id(span: Span) -> str:
    """The span's trace id as 32 hex digits."""
    return f"{span.get_span_context().trace_id:032x}"


def failed(span: Span, error_type: str, message: str = "") -> None:
    """Mark a span as failed; a conflict that a retry solved is no failure."""
    span.set_attribute(Attr.ERROR_TYPE, error_type)
    span.set_status(Status(StatusCode.ERROR, message or error_type))
