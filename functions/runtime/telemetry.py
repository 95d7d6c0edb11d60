"""Tracing and logs: the one module that knows the OpenTelemetry SDK.

Providers are passed, never global. Without an endpoint there is no exporter and spans are not recorded, but they
still carry ids, so that answers and logs can name a trace. Telemetry never changes an answer.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Span, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from functions.runtime.names import Attr

PACKAGE = "webapp-operator"
_propagator = TraceContextTextMapPropagator()
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_EXPORT_TIMEOUT_SECONDS = 2


def provider(service: str, environ: Mapping[str, str]) -> TracerProvider:
    """The tracer provider of one process; the standard OTEL_* variables configure it.

    Call `shutdown()` on it at the end: it hands over what is still buffered.
    """
    resource = Resource.create(
        {
            "service.name": environ.get("OTEL_SERVICE_NAME") or service,
            "service.namespace": "webapp",
            "service.version": version(PACKAGE),
            **{key: environ[name] for key, name in _FAAS.items() if environ.get(name)},
        }
    )
    if not any(environ.get(name) for name in _ENDPOINTS):
        return TracerProvider(resource=resource, sampler=ALWAYS_OFF, shutdown_on_exit=False)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - 5 MiB
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above

    made = TracerProvider(resource=resource, shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=_EXPORT_TIMEOUT_SECONDS)))
    return made


_FAAS = {"faas.name": "K_SERVICE", "faas.version": "K_REVISION", "faas.instance": "HOSTNAME"}


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


class JsonFormatter(logging.Formatter):
    """One JSON object a line; what `extra={"fields": {...}}` holds stands beside time, level and message."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class ConsoleFormatter(logging.Formatter):
    """For people: time, message, `name=value`; the trace id comes last, so that it can be copied."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one readable line."""
        fields = dict(getattr(record, "fields", {}))
        trace = fields.pop("trace_id", None)
        told = " ".join(f"{name}={value}" for name, value in fields.items() if value not in {"", None})
        when = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S.%f")[:-3]
        line = " ".join(
            filter(None, [when, record.levelname[0], record.getMessage(), told, trace and f"trace={trace}"])
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def logs(environ: Mapping[str, str]) -> None:
    """Send the process's logs to standard error: JSON, or text with `WEBAPP_LOG_FORMAT=console`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(ConsoleFormatter() if environ.get("WEBAPP_LOG_FORMAT") == "console" else JsonFormatter())
    logging.basicConfig(level=environ.get("WEBAPP_LOG_LEVEL", "INFO").upper(), handlers=[handler], force=True)
