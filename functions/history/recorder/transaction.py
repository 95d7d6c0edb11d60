"""One transaction of the recorder: a span of the event that came first, linked from the others, and its figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from opentelemetry.trace import Link, Span, SpanKind, Tracer, get_current_span, set_span_in_context

from functions.aggregation.status import Unavailable
from functions.history.record import Record
from functions.history.recorder.measures import DUPLICATE, RECORDED, Measures
from functions.runtime import telemetry
from functions.runtime.names import Attr, LinkKind
from functions.runtime.names import Span as SpanName


@dataclass(frozen=True, slots=True)
class Entry:
    """A record, and the span of the request that brought it."""

    record: Record
    span: Span = field(default_factory=get_current_span)


@dataclass(frozen=True)
class Transaction:
    """Writes with `append`, which says how many were new; `system` is what spans call the database."""

    append: Callable[[Sequence[Record]], int]
    system: str
    tracer: Tracer
    measures: Measures

    def write(self, entries: Sequence[Entry]) -> None:
        """All or none; raises what `append` raises."""
        links = [Link(each.span.get_span_context(), {Attr.LINK: LinkKind.BATCH}) for each in entries[1:]]
        began = time.monotonic()
        labels: dict[str, str] = {}
        with telemetry.span(
            self.tracer,
            SpanName.RECORD,
            kind=SpanKind.CLIENT,
            context=set_span_in_context(entries[0].span),
            links=links,
            attributes={
                Attr.DB_SYSTEM: self.system,
                Attr.DB_OPERATION: "INSERT",
                Attr.DB_COLLECTION: "reconciles",
                Attr.DB_BATCH: len(entries),
            },
        ) as span:
            try:
                fresh = self.append([each.record for each in entries])
            except Exception as error:
                kind = error.error_type if isinstance(error, Unavailable) else type(error).__qualname__
                labels[Attr.ERROR_TYPE] = kind
                telemetry.failed(span, kind, str(error))
                raise
            finally:
                self.measures.commit.record(time.monotonic() - began, labels)
                self.measures.batch.record(len(entries))
            span.set_attribute(Attr.HISTORY_NEW, fresh)
        self.measures.count(RECORDED, fresh)
        self.measures.count(DUPLICATE, len(entries) - fresh)
