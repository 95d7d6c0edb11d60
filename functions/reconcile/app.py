"""The reconcile function over HTTP: a CloudEvent comes in, its reconcile's outcome goes out.

204 means that the event is done with, 4xx that it must never be sent again, 503 that it must. A body is sent only to a
caller who asked for one: `Prefer: return=representation` gets a report, `Prefer: reply` a CloudEvent.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from cloudevents.core.v1.event import CloudEvent
from flask import Flask, Response, request
from opentelemetry.trace import Link, Span, SpanKind, get_current_span

from functions.reconcile.handling import Asked, Handling
from functions.reconcile.reconciler import reconcile
from functions.reconcile.report import Report
from functions.reconcile.session import Means
from functions.reconcile.settings import Settings
from functions.runtime import telemetry, web
from functions.runtime.names import DESTINATION, Attr
from functions.runtime.names import Span as SpanName
from functions.webapp import apiserversource, contract, envelope
from functions.webapp.contract import WebAppEvent
from functions.webapp.errors import WebAppError
from functions.webapp.finished import Fault
from functions.webapp.outcome import Outcome
from functions.webapp.resources import OWNED

_log = logging.getLogger("functions.reconcile")
TRIGGER = "pubsub"
"""What `faas.trigger` says of a function that is sent events (semantic conventions for FaaS)."""


def create_app(settings: Settings, means: Means, init: Link) -> Flask:
    """The WSGI app; `init` is the link to the cold start's trace, for the first request."""
    app = web.skeleton(__name__, body_limit=settings.body_limit)
    function = _Function(settings, means, init)
    app.add_url_rule("/", "receive", function.receive, methods=["POST"], provide_automatic_options=False)
    app.add_url_rule("/", "allow", function.allow, methods=["OPTIONS"])
    return app


class _Function:
    def __init__(self, settings: Settings, means: Means, init: Link) -> None:
        self._settings = settings
        self._means = means
        self._init: Link | None = init

    def allow(self) -> Response:
        """Abuse protection of the CloudEvents webhook specification: whoever asks may send here."""
        answer = Response(status=200, headers={"allow": "POST, OPTIONS"})
        if origin := request.headers.get("webhook-request-origin"):
            answer.headers["webhook-allowed-origin"] = origin
            answer.headers["webhook-allowed-rate"] = "*"
        return answer

    def receive(self) -> Response:
        """One event."""
        started = time.time_ns()
        headers = list(request.headers.items())
        event = _decoded(headers)
        created = event.get_extension("traceparent") if isinstance(event, CloudEvent) else None
        parent, links = web.lineage(
            {name.lower(): value for name, value in headers}, str(created or ""), replayed=Asked.for_a_report()
        )
        init, self._init = self._init, None
        with telemetry.span(
            self._means.tracer,
            SpanName.RECEIVE,
            kind=SpanKind.SERVER,
            context=parent,
            links=[*links, init] if init else links,
            start_time=started,
            attributes={
                Attr.HTTP_METHOD: "POST",
                Attr.HTTP_ROUTE: "/",
                Attr.FAAS_TRIGGER: TRIGGER,
                Attr.FAAS_COLDSTART: init is not None,
            },
        ) as span:
            if isinstance(event, CloudEvent):
                answer = self._process(Handling(event), links)
            else:
                span.set_attributes({Attr.OUTCOME: str(Outcome.FAILED), Attr.REASON: event.error_type})
                answer = self._refuse(event, None)
            span.set_attribute(Attr.HTTP_STATUS, answer.status_code)
            if answer.status_code >= 500:
                telemetry.failed(span, str(answer.status_code))
            labels: dict[str, str | int] = {
                Attr.HTTP_METHOD: "POST",
                Attr.HTTP_ROUTE: "/",
                Attr.HTTP_STATUS: answer.status_code,
            }
            self._means.instruments.server.record((time.time_ns() - started) / 1e9, labels)
            return web.answered(span, answer)

    def _process(self, run: Handling, links: list[Link]) -> Response:
        event = run.event
        attributes = {
            Attr.MESSAGING_SYSTEM: "cloudevents",
            Attr.MESSAGING_OPERATION: "process",
            Attr.MESSAGING_OPERATION_TYPE: "process",
            Attr.MESSAGING_DESTINATION: DESTINATION,
            Attr.MESSAGING_ID: event.get_id(),
            Attr.EVENT_ID: event.get_id(),
            Attr.EVENT_SOURCE: event.get_source(),
            Attr.EVENT_TYPE: event.get_type(),
            Attr.EVENT_SUBJECT: event.get_subject() or "",
        }
        with telemetry.span(
            self._means.tracer, SpanName.PROCESS, kind=SpanKind.CONSUMER, links=links, attributes=attributes
        ) as span:
            labels: dict[str, str] = {}
            try:
                run.asked = Asked.of_request()
                self._reconcile(run, span, labels)
            except WebAppError as error:
                telemetry.failed(span, error.error_type, str(error))
                labels[Attr.ERROR_TYPE] = error.error_type
                return self._refuse(error, run)
            except Exception as error:  # noqa: BLE001 - told with its stack by `defect`, and as this span's failure
                telemetry.failed(span, type(error).__qualname__)
                labels[Attr.ERROR_TYPE] = type(error).__qualname__
                return web.defect(error, **self._failure(run, Fault(web.UNFORESEEN_TYPE, web.UNFORESEEN)))
            finally:
                self._means.instruments.process.record(run.milliseconds() / 1000, labels)
            report = run.report
            quiet = report.outcome in {Outcome.UNCHANGED, Outcome.IGNORED, Outcome.GONE, Outcome.STALE}
            told = {"outcome": str(report.outcome), "attempts": report.attempts, "api_calls": len(report.calls)}
            level = logging.DEBUG if quiet else logging.INFO
            _tell(level, run, webapp=str(report.webapp), reason=report.reason, **told)
            return run.answer(self._means.resource.group, self._settings.revision)

    def _reconcile(self, run: Handling, span: Span, labels: dict[str, str]) -> None:
        event, resource = run.event, self._means.resource
        if event.get_type().startswith(apiserversource.PREFIX):
            meant = apiserversource.parse(event, resource, OWNED)
        else:
            meant = contract.parse(event, resource, OWNED)
        if meant is None:
            return
        if not self._allowed(meant):
            run.report.webapp = meant.webapp
            return
        run.meant, run.report = meant, Report(meant.webapp)
        labels[Attr.EVENT_TYPE] = meant.type  # only now: it is one of ours, and ours are few
        if meant.time is not None:
            age = self._means.now() - meant.time
            span.set_attribute(Attr.EVENT_AGE, max(0, round(age.total_seconds() * 1000)))
        span.set_attributes(
            {
                Attr.NAMESPACE: meant.webapp.namespace,
                Attr.NAME: meant.webapp.name,
                Attr.UID: meant.webapp.uid,
                Attr.OBJECT_KIND: meant.changed.kind,
                Attr.CHANGE: str(meant.change),
                Attr.CAUSE: str(meant.cause),
                Attr.COALESCED: meant.coalesced,
                Attr.DRY_RUN: run.asked.dry_run,
            }
        )
        reconcile(meant, self._means, run.report, dry_run=run.asked.dry_run)

    def _allowed(self, event: WebAppEvent) -> bool:
        return not self._settings.namespaces or event.webapp.namespace in self._settings.namespaces

    def _refuse(self, error: WebAppError, run: Handling | None) -> Response:
        _tell(logging.WARNING, run, outcome=str(Outcome.FAILED), error=error.error_type, detail=str(error))
        more = self._failure(run, Fault(error.error_type, str(error))) if run else {}
        return web.refusal(error, traceId=telemetry.trace_id(get_current_span()), **more)

    def _failure(self, run: Handling, fault: Fault) -> dict[str, Any]:
        return run.failure(self._means.resource.group, self._settings.revision, fault)


def _tell(level: int, run: Handling | None, **fields: Any) -> None:
    if not _log.isEnabledFor(level):
        return
    if run is not None:
        about = {"event_id": run.event.get_id(), "type": run.event.get_type()}
        fields = {**about, **fields, "duration_ms": round(run.milliseconds(), 1)}
    _log.log(level, "handled", extra={"fields": {**fields, "trace_id": telemetry.trace_id(get_current_span())}})


def _decoded(headers: list[tuple[str, str]]) -> CloudEvent | WebAppError:
    """The request as an event, or why it is none."""
    try:
        return envelope.decode(headers, request.get_data(cache=False))
    except WebAppError as error:
        return error
