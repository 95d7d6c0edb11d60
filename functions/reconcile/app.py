"""The reconcile function over HTTP: a CloudEvent comes in, its reconcile's outcome goes out.

204 means that the event is done with, 4xx that it must never be sent again, 503 that it must. A body is sent only to a
caller who asked for one: `Prefer: return=representation` gets a report, `Prefer: reply` a CloudEvent.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cloudevents.core.v1.event import CloudEvent
from flask import Flask, Response, request
from opentelemetry.trace import Link, Span, SpanKind, get_current_span

from functions.reconcile.reconciler import reconcile
from functions.reconcile.report import FAILED, Outcome, Report
from functions.reconcile.session import Means
from functions.reconcile.settings import Settings
from functions.runtime import telemetry, web
from functions.runtime.names import DESTINATION, Attr
from functions.runtime.names import Span as SpanName
from functions.webapp import apiserversource, contract, envelope
from functions.webapp.contract import WebAppEvent
from functions.webapp.errors import MalformedEvent, WebAppError
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


@dataclass(frozen=True)
class _Asked:
    """What the caller wants besides the reconcile."""

    report: bool
    reply: bool
    dry_run: bool

    @staticmethod
    def for_a_report() -> bool:
        return "return=representation" in web.preferences(request.headers.get("prefer"))

    @classmethod
    def of(cls) -> _Asked:
        wanted = web.preferences(request.headers.get("prefer"))
        dry_run = request.args.get("dryRun")
        if dry_run not in {None, "", "All"}:
            raise MalformedEvent("dryRun", f"{dry_run[:80]!r} is not a dry run that exists; use ?dryRun=All")
        return cls(cls.for_a_report() or bool(dry_run), "reply" in wanted, bool(dry_run))


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
        started, begun = time.time_ns(), time.monotonic()
        event = _decoded()
        headers = {name.lower(): value for name, value in request.headers.items()}
        created = event.get_extension("traceparent") if isinstance(event, CloudEvent) else None
        parent, links = web.lineage(headers, str(created or ""), replayed=_Asked.for_a_report())
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
                answer = self._process(event, links, begun)
            else:
                span.set_attributes({Attr.OUTCOME: FAILED, Attr.REASON: event.error_type})
                answer = self._refuse(event, None, begun)
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

    def _process(self, event: CloudEvent, links: list[Link], begun: float) -> Response:
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
                asked = _Asked.of()
                report = self._reconcile(event, asked, span, labels)
            except WebAppError as error:
                telemetry.failed(span, error.error_type, str(error))
                labels[Attr.ERROR_TYPE] = error.error_type
                return self._refuse(error, event, begun)
            except Exception as error:  # noqa: BLE001 - told with its stack by `defect`, and as this span's failure
                telemetry.failed(span, type(error).__qualname__)
                labels[Attr.ERROR_TYPE] = type(error).__qualname__
                return web.defect(error)
            finally:
                self._means.instruments.process.record(time.monotonic() - begun, labels)
            quiet = report.outcome in {Outcome.UNCHANGED, Outcome.IGNORED, Outcome.GONE, Outcome.STALE}
            told = {"outcome": str(report.outcome), "attempts": report.attempts, "api_calls": len(report.calls)}
            level = logging.DEBUG if quiet else logging.INFO
            self._log(level, event, begun, webapp=str(report.webapp), reason=report.reason, **told)
            return self._answer(event, report, asked)

    def _reconcile(self, event: CloudEvent, asked: _Asked, span: Span, labels: dict[str, str]) -> Report:
        resource = self._means.resource
        if event.get_type().startswith(apiserversource.PREFIX):
            meant = apiserversource.parse(event, resource, OWNED)
        else:
            meant = contract.parse(event, resource, OWNED)
        if meant is None or not self._allowed(meant):
            return Report(meant.webapp if meant else contract.Key("", ""), Outcome.IGNORED)
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
                Attr.DRY_RUN: asked.dry_run,
            }
        )
        return reconcile(meant, self._means, dry_run=asked.dry_run)

    def _allowed(self, event: WebAppEvent) -> bool:
        return not self._settings.namespaces or event.webapp.namespace in self._settings.namespaces

    def _refuse(self, error: WebAppError, event: CloudEvent | None, begun: float) -> Response:
        self._log(logging.WARNING, event, begun, outcome=FAILED, error=error.error_type, detail=str(error))
        return web.refusal(error, traceId=telemetry.trace_id(get_current_span()))

    def _answer(self, event: CloudEvent, report: Report, asked: _Asked) -> Response:
        trace = telemetry.trace_id(get_current_span())
        told = report.told(traceId=trace, eventId=event.get_id())
        if asked.report:
            answer = Response(json.dumps(told) + "\n", 200, content_type="application/json")
        elif asked.reply and report.outcome is not Outcome.IGNORED:
            headers, body = envelope.encode_binary(self._finished(event, told, trace))
            answer = Response(body, 200, headers)
        else:
            answer = Response(status=204)
        answer.headers[contract.ANSWER_OUTCOME] = str(report.outcome)
        if report.wrote:
            answer.headers[contract.ANSWER_WROTE] = " ".join(report.wrote)
        if report.requeue_after is not None:
            answer.headers[contract.ANSWER_REQUEUE_AFTER] = str(report.requeue_after)
        return answer

    def _finished(self, event: CloudEvent, told: Mapping[str, Any], trace: str) -> CloudEvent:
        """The reconcile as a CloudEvent for the history; its type is none that a reconcile function handles."""
        group = self._means.resource.group
        attributes = {
            "specversion": "1.0",
            "id": f"{event.get_id()}.{trace}",
            "type": f"{contract.prefix(group)}.reconcile.finished.v1",
            "source": event.get_source(),
            "subject": event.get_subject(),
            "time": datetime.now(UTC),
            "datacontenttype": "application/json",
            "causationid": event.get_id(),
        }
        return CloudEvent({key: value for key, value in attributes.items() if value}, dict(told))

    def _log(self, level: int, event: CloudEvent | None, begun: float, **fields: Any) -> None:
        if not _log.isEnabledFor(level):
            return
        told = {"event_id": event.get_id(), "type": event.get_type()} if event is not None else {}
        found = {**told, **fields, "duration_ms": round((time.monotonic() - begun) * 1000, 1)}
        _log.log(level, "handled", extra={"fields": {**found, "trace_id": telemetry.trace_id(get_current_span())}})


def _decoded() -> CloudEvent | WebAppError:
    """The request as an event, or why it is none."""
    try:
        return envelope.decode(list(request.headers.items()), request.get_data(cache=False))
    except WebAppError as error:
        return error
