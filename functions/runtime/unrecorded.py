"""Spans that nobody keeps: they have ids, so that answers and logs can name a trace, and need no SDK.

The SDK begins the same ones under its sampler ALWAYS_OFF, and would be a thirtieth of a cold start.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    TraceFlags,
    Tracer,
    TracerProvider,
    get_current_span,
    use_span,
)
from opentelemetry.util._decorator import _agnosticcontextmanager  # what `Tracer` is typed with, as in the SDK


class Unrecorded(TracerProvider):
    """A provider without an exporter."""

    def get_tracer(self, *_: Any, **__: Any) -> Tracer:
        """The same for everybody."""
        return _Tracer()

    def shutdown(self) -> None:
        """There is nothing to hand over."""


class _Tracer(Tracer):
    def __init__(self) -> None:
        self._random = random.SystemRandom()  # so that two processes never make the same ids, forked or not

    def start_span(self, name: str, context: Context | None = None, *_: Any, **__: Any) -> Span:  # noqa: ARG002
        """A new root has a random trace id, and says so (W3C Trace Context level 2, random-trace-id)."""
        parent = get_current_span(context).get_span_context()
        trace_id = parent.trace_id if parent.is_valid else self._random.randrange(1, 1 << 128)
        span_id = self._random.randrange(1, 1 << 64)
        flags = parent.trace_flags & TraceFlags.RANDOM_TRACE_ID if parent.is_valid else TraceFlags.RANDOM_TRACE_ID
        return NonRecordingSpan(SpanContext(trace_id, span_id, False, TraceFlags(flags), parent.trace_state))  # noqa: FBT003

    @_agnosticcontextmanager
    def start_as_current_span(self, name: str, context: Context | None = None, *_: Any, **__: Any) -> Iterator[Span]:
        with use_span(self.start_span(name, context)) as span:
            yield span
