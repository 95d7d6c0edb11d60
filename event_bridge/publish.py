"""One delivery: the notice as a CloudEvent, one attempt to send it, and the two spans that tell of it.

A PRODUCER span lasts from seeing a change until its notice is answered for good, so that waiting in the queue shows;
each attempt is a CLIENT span below it. What the changed object carries in its annotation becomes a link, never a
parent: people write annotations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Tracer, get_current_span, set_span_in_context

from event_bridge.answer import Answer, Verdict
from event_bridge.backlog import Delivery, News
from event_bridge.parking import Parking
from event_bridge.settings import Settings
from event_bridge.sink import NotAllowedError, Sink
from functions.runtime import names, telemetry
from functions.runtime.names import DESTINATION, Attr, LinkKind
from functions.webapp import contract
from functions.webapp.contract import Notice
from functions.webapp.timestamp import rfc3339

Snapshots = Callable[[str], tuple[bytes | None, list[bytes]]]
"""The snapshot of a WebApp, by its uid."""


class Publisher:
    """Sends notices; `cluster` is the uid of this cluster."""

    def __init__(self, settings: Settings, sink: Sink, tracer: Tracer, *, cluster: str, snapshot: Snapshots) -> None:
        self._group = settings.group
        self._cluster = cluster
        self._more = {f"ce-{name}": value for name, value in settings.extensions.items()}
        if settings.history:
            self._more["prefer"] = f"reply, {contract.PREFER_FINISHED}"
        self._sink = sink
        self._tracer = tracer
        self._snapshot = snapshot
        self._parking = Parking(settings.parking_file, settings.parking_bytes, sink.url)
        self._epoch = time.time() - time.monotonic()
        self._open: dict[str, tuple[str, Span]] = {}

    def send(self, delivery: Delivery) -> Answer:
        """Try once; raises NotAllowedError where this process must not send."""
        notice = delivery.notice
        seen = datetime.fromtimestamp(self._epoch + delivery.news.seen, UTC)
        attributes = contract.attributes(notice, group=self._group, cluster=self._cluster, time=seen)
        span = self._span(delivery, notice, attributes)
        headers = {f"ce-{name}": value for name, value in attributes.items() if name != "datacontenttype"}
        headers["ce-time"] = rfc3339(seen)
        headers["content-type"] = attributes["datacontenttype"]
        trace = telemetry.inject({}, span)
        headers |= {f"ce-{name}": value for name, value in trace.items()} | self._more | trace
        body = contract.data(notice, *self._snapshot(notice.webapp.uid))
        try:
            answer = self._attempt(span, headers, body, delivery.tries)
            if answer.status == 413:
                body = contract.data(notice, None, [])
                answer = self._attempt(span, headers, body, delivery.tries + 1)
        except NotAllowedError:
            self._end(delivery.key, span)
            raise
        if answer.outcome:
            span.set_attribute(Attr.OUTCOME, answer.outcome)
        if answer.verdict is Verdict.AGAIN:
            self._open[delivery.key] = (notice.id, span)
        else:
            if answer.verdict is Verdict.POISON:
                telemetry.failed(span, answer.error_type, answer.text)
                self._parking.add(attributes, body, answer)
            self._end(delivery.key, span)
        return answer

    def close(self) -> None:
        """End the spans of what was never answered."""
        for key, (_, span) in list(self._open.items()):
            telemetry.failed(span, "unanswered")
            self._end(key, span)

    def _attempt(self, parent: Span, headers: dict[str, str], body: bytes, resend: int) -> Answer:
        if not (resend or parent.is_recording()):  # nor would its child be; each further attempt has an id of its own
            return self._sink.post(headers, body)
        attributes: dict[str, str | int] = {
            Attr.HTTP_METHOD: "POST",
            Attr.URL_FULL: self._sink.url,
            Attr.SERVER_ADDRESS: self._sink.host,
            Attr.SERVER_PORT: self._sink.port,
        }
        if resend:
            attributes[Attr.HTTP_RESEND] = resend
        context = set_span_in_context(parent, Context())
        span = self._tracer.start_span(names.Span.DELIVER, context, kind=SpanKind.CLIENT, attributes=attributes)
        try:
            answer = self._sink.post(telemetry.inject(dict(headers), span), body)
            if answer.status:
                span.set_attribute(Attr.HTTP_STATUS, answer.status)
            if answer.error_type:
                telemetry.failed(span, answer.error_type, answer.text)
            return answer
        finally:
            span.end()

    def _span(self, delivery: Delivery, notice: Notice, attributes: dict[str, str]) -> Span:
        begun = self._open.pop(delivery.key, None)
        if begun:
            if begun[0] == notice.id:
                return begun[1]
            begun[1].end()  # a newer change has taken its place
        span = self._tracer.start_span(
            names.Span.PUBLISH,
            Context(),
            kind=SpanKind.PRODUCER,
            links=_links(delivery.news),
            start_time=int((self._epoch + delivery.since) * 1e9),
        )
        if span.is_recording():
            span.set_attributes(_told(notice, attributes))
        return span

    def _end(self, key: str, span: Span) -> None:
        self._open.pop(key, None)
        span.end()


def _links(news: News) -> list[Link]:
    """To what the object carries: on an owned one the function's stamp, on a WebApp anybody's note."""
    if not news.stamp:
        return []
    found = get_current_span(telemetry.extract({"traceparent": news.stamp})).get_span_context()
    kind = LinkKind.WEBAPP if news.notice.object.uid == news.notice.webapp.uid else LinkKind.STAMP
    return [Link(found, {Attr.LINK: kind})] if found.is_valid else []


def _told(notice: Notice, attributes: dict[str, str]) -> dict[str, str | int]:
    return {
        Attr.MESSAGING_SYSTEM: "cloudevents",
        Attr.MESSAGING_OPERATION: "publish",
        Attr.MESSAGING_OPERATION_TYPE: "send",
        Attr.MESSAGING_DESTINATION: DESTINATION,
        Attr.MESSAGING_ID: notice.id,
        Attr.EVENT_ID: notice.id,
        Attr.EVENT_SOURCE: attributes["source"],
        Attr.EVENT_TYPE: attributes["type"],
        Attr.EVENT_SUBJECT: attributes["subject"],
        Attr.NAMESPACE: notice.webapp.namespace,
        Attr.NAME: notice.webapp.name,
        Attr.UID: notice.webapp.uid,
        Attr.OBJECT_KIND: notice.object.resource.kind,
        Attr.OBJECT_NAME: notice.object.name,
        Attr.OBJECT_VERSION: notice.object.resource_version,
        Attr.CHANGE: notice.change.value,
        Attr.CAUSE: notice.cause.value,
        Attr.COALESCED: notice.coalesced,
    }
