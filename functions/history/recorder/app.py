"""The recorder over HTTP: `POST /` with a CloudEvent.

204 means that the event is durable, or no concern of the history; 4xx that it must never be sent again, 503 that it
must. Delivered twice it is recorded once.
"""

from __future__ import annotations

import logging
import time

from cloudevents.core.v1.event import CloudEvent
from flask import Flask, Response, request
from opentelemetry.trace import Span, SpanKind, Tracer

from functions.history.record import OUTCOMES, record
from functions.history.recorder.batches import Batches, NotRecorded
from functions.history.recorder.measures import IGNORED, NOT_RECORDED, REFUSED, Measures
from functions.history.recorder.transaction import Entry
from functions.runtime import telemetry, web
from functions.runtime.names import Attr
from functions.runtime.names import Span as SpanName
from functions.webapp import envelope, finished
from functions.webapp.errors import WebAppError

BODY_LIMIT = envelope.MAX_BYTES

_log = logging.getLogger("functions.history.recorder")


def create_app(recorder: Recorder) -> Flask:
    """The WSGI app."""
    app = web.skeleton(__name__, body_limit=BODY_LIMIT)
    app.add_url_rule("/", "receive", recorder.receive, methods=["POST"], provide_automatic_options=False)
    return app


class Recorder:
    """Records the finished reconciles of WebApps in one API group, from any number of threads."""

    def __init__(self, group: str, batches: Batches, tracer: Tracer, measures: Measures) -> None:
        self._type = finished.event_type(group)
        self._batches, self._tracer, self._measures = batches, tracer, measures

    def receive(self) -> Response:
        """The view."""
        began = time.time_ns()
        event = _decoded()
        headers = {name.lower(): value for name, value in request.headers.items()}
        created = event.get_extension("traceparent") if isinstance(event, CloudEvent) else None
        parent, links = web.lineage(headers, str(created or ""), replayed=False)
        with telemetry.span(
            self._tracer,
            SpanName.RECEIVE,
            kind=SpanKind.SERVER,
            context=parent,
            links=links,
            start_time=began,
            attributes={Attr.HTTP_METHOD: "POST", Attr.HTTP_ROUTE: "/"},
        ) as span:
            answer = self._process(event, span)
            span.set_attribute(Attr.HTTP_STATUS, answer.status_code)
            labels: dict[str, str | int] = {
                Attr.HTTP_METHOD: "POST",
                Attr.HTTP_ROUTE: "/",
                Attr.HTTP_STATUS: answer.status_code,
            }
            self._measures.server.record((time.time_ns() - began) / 1e9, labels)
            return web.answered(span, answer)

    def _process(self, event: CloudEvent | WebAppError, span: Span) -> Response:
        try:
            self._record(event, span)
        except WebAppError as error:
            telemetry.failed(span, error.error_type, str(error))
            self._measures.count(NOT_RECORDED if isinstance(error, NotRecorded) else REFUSED, 1)
            fields = {"error": error.error_type, "detail": str(error), "trace_id": telemetry.trace_id(span)}
            _log.debug("refused", extra={"fields": fields})
            return web.refusal(error, traceId=telemetry.trace_id(span))
        except Exception as error:  # noqa: BLE001 - told with its stack by `defect`, and as this span's failure
            telemetry.failed(span, type(error).__qualname__)
            self._measures.count(NOT_RECORDED, 1)
            return web.defect(error)
        return Response(status=204)

    def _record(self, event: CloudEvent | WebAppError, span: Span) -> None:
        if isinstance(event, WebAppError):
            raise event
        span.set_attributes(
            {
                Attr.EVENT_ID: event.get_id(),
                Attr.EVENT_SOURCE: event.get_source(),
                Attr.EVENT_TYPE: event.get_type(),
                Attr.EVENT_SUBJECT: event.get_subject() or "",
            }
        )
        run = finished.parse(event) if event.get_type() == self._type else None
        if run is None or run.outcome not in OUTCOMES:
            self._measures.count(IGNORED, 1)
            span.set_attribute(Attr.HISTORY_RESULT, IGNORED)
            return
        span.set_attributes({Attr.NAMESPACE: run.webapp.namespace, Attr.NAME: run.webapp.name})
        self._batches.put(Entry(record(event.get_source(), event.get_id(), run), span))


def _decoded() -> CloudEvent | WebAppError:
    """The request as an event, or why it is none."""
    try:
        return envelope.decode(list(request.headers.items()), request.get_data(cache=False))
    except WebAppError as error:
        return error
