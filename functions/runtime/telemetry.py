"""Tracing: providers, propagation, and how a span is told to have failed.

Providers are passed, never global. Without an endpoint there is no exporter and spans are not recorded, but they
still carry ids, so that answers and logs can name a trace. Telemetry never changes an answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    TracerProvider,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import Attributes

from functions.runtime.names import Attr
from functions.runtime.unrecorded import Unrecorded
from functions.webapp.errors import WebAppError

if TYPE_CHECKING:
    from functions.runtime.recorded import Recorded

PACKAGE = "webapp-operator"
_propagator = TraceContextTextMapPropagator()
_CLOSE_SECONDS = 1.0


def provider(service: str, environ: Mapping[str, str]) -> Recorded | Unrecorded:
    """The tracer provider of one process; the standard OTEL_* variables configure it.

    `OTEL_TRACES_SAMPLER_ARG` is the share of new traces that are recorded (1.0). Call `shutdown()` at the end: it hands
    over what is still buffered.
    """
    if not endpoint(environ, "TRACES"):
        return Unrecorded()
    from functions.runtime.recorded import Recorded  # noqa: PLC0415 - the SDK and its exporter: 6 MiB

    return Recorded.load(service, environ)


def close(*shutdowns: Callable[[], object]) -> None:
    """Hand over what is buffered, all signals at once, but give up after 1 s: no collector keeps a process alive."""
    threads = [threading.Thread(target=shutdown, daemon=True) for shutdown in shutdowns]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + _CLOSE_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


def endpoint(environ: Mapping[str, str], signal: str) -> str:
    """Where a signal (TRACES, METRICS) goes by OTLP over HTTP; "" is nowhere."""
    return environ.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT") or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or ""


def tracer(made: TracerProvider) -> Tracer:
    """The project's tracer of a provider, with the version where it is recorded: it is read from a file."""
    return made.get_tracer(PACKAGE, None if isinstance(made, Unrecorded) else version(PACKAGE))


@contextmanager
def span(  # noqa: PLR0913 - what a span can be given
    tracer: Tracer,
    name: str,
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    context: Context | None = None,
    links: Sequence[Link] = (),
    attributes: Attributes = None,
    start_time: int | None = None,
) -> Iterator[Span]:
    """A span that is the current one inside; an error that passes through marks it only if it is a defect.

    What an error of the project's own tree means for a span is for the one to say who handles it, by `failed`.
    Below a span of this process that is not recorded no other one would be: there it is that span itself.
    """
    if context is None and _unrecorded(parent := get_current_span()):
        yield parent
        return
    with tracer.start_as_current_span(
        name, context, kind, attributes, links, start_time, record_exception=False, set_status_on_exception=False
    ) as begun:
        try:
            yield begun
        except WebAppError:
            raise
        except Exception as error:
            failed(begun, type(error).__qualname__)
            raise


def _unrecorded(span: Span) -> bool:
    """Whether the span was begun in this process, and nobody keeps it: samplers have decided for all below it."""
    found = span.get_span_context()
    return found.is_valid and not found.is_remote and not span.is_recording()


def inject(headers: dict[str, str], span: Span) -> dict[str, str]:
    """`headers` with `traceparent` (and `tracestate`) of the span."""
    _propagator.inject(headers, context=set_span_in_context(span, Context()))
    return headers


def extract(headers: Mapping[str, str]) -> Context:
    """The remote context that a caller sent; empty where it sent none or a malformed one."""
    return _propagator.extract(headers, context=Context())


def trace_id(span: Span) -> str:
    """The span's trace id as 32 hex digits; "" where there is none."""
    found = span.get_span_context()
    return f"{found.trace_id:032x}" if found.is_valid else ""


def failed(span: Span, error_type: str, message: str = "") -> None:
    """Mark a span as failed; a conflict that a retry solved is no failure."""
    span.set_attribute(Attr.ERROR_TYPE, error_type)
    span.set_status(Status(StatusCode.ERROR, message or error_type))
