"""What every HTTP function shares: health, body limits, errors as problem details, the trace a request belongs to."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from flask import Flask, Response, request
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, get_current_span
from werkzeug.exceptions import HTTPException

from functions.runtime import telemetry
from functions.runtime.names import Attr, LinkKind
from functions.webapp.contract import PROBLEM
from functions.webapp.errors import ApiError, TryAgain, WebAppError

REFUSAL_BYTES = 768
"""A refusal is never longer: base64 of more does not fit into the 1024 bytes that Knative's dispatcher has for
`knativeerrordata`, and it panics (eventing 1.23 `pkg/kncloudevents/event_dispatcher.go`), with all that it holds."""

_DETAIL_BYTES, _FIELD_BYTES = 480, 60
UNFORESEEN_TYPE, UNFORESEEN = "internal_error", "an unexpected error, told in the logs"

_log = logging.getLogger(__name__)


def skeleton(name: str, *, body_limit: int) -> Flask:
    """An app with `/health/liveness` and `/health/readiness`, which ask nobody, and every error as problem details."""
    app = Flask(name, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = body_limit
    app.add_url_rule("/health/liveness", "liveness", _healthy)
    app.add_url_rule("/health/readiness", "readiness", _healthy)
    app.register_error_handler(HTTPException, _http_problem)
    app.register_error_handler(Exception, defect)
    return app


def body(limit: int) -> bytes:
    """The body of the current request, of at most `limit` bytes for this route; 413 beyond that."""
    request.max_content_length = limit
    return request.get_data(cache=False)


def problem(status: int, title: str, detail: str, **more: Any) -> Response:
    """Problem details; `more` holds what a program may want, such as `field` or `traceId`.

    Texts are cut so that, without objects in `more`, the whole is at most `REFUSAL_BYTES` long.
    """
    told = {key: _cut(value, _FIELD_BYTES) if isinstance(value, str) else value for key, value in more.items() if value}
    body = {"title": title, "status": status, "detail": _cut(detail, _DETAIL_BYTES), **told}
    return Response(json.dumps(body) + "\n", status, content_type=PROBLEM)


def _cut(text: str, size: int) -> str:
    """The text, or as much of it as is at most about `size` bytes of JSON."""
    kept = text
    while len(json.dumps(kept)) > size:
        kept = kept[: len(kept) * 7 // 8]
    return text if kept == text else f"{kept}…"


def refusal(error: WebAppError, **more: Any) -> Response:
    """The answer for an error of the tree; those that pass by themselves carry Retry-After."""
    answer = problem(error.answer, error.error_type, str(error), field=getattr(error, "field", None), **more)
    if isinstance(error, ApiError | TryAgain):
        answer.headers["retry-after"] = str(max(1, round(error.retry_after or 1)))
    return answer


def document(told: Mapping[str, Any]) -> Response:
    """A JSON document that was asked for."""
    return Response(json.dumps(told) + "\n", 200, content_type="application/json")


def defect(error: Exception, **more: Any) -> Response:
    """The answer for what nobody foresaw; the log tells it once, with its stack and trace."""
    trace = telemetry.trace_id(get_current_span())
    _log.error("unexpected error", exc_info=error, extra={"fields": {"trace_id": trace}})
    return problem(500, UNFORESEEN_TYPE, UNFORESEEN, traceId=trace, **more)


def preferences(header: str | None) -> frozenset[str]:
    """The preferences of a `Prefer` header (RFC 7240), such as `reply` or `return=representation`."""
    return frozenset(part.split(";")[0].strip().lower().replace('"', "") for part in (header or "").split(","))


def lineage(headers: Mapping[str, str], created: str, *, replayed: bool) -> tuple[Context, list[Link]]:
    """The parent of a request's span, and links to the other contexts it came with.

    `headers` by their names in lower case; `created` is the event's own `traceparent`, its creation context. The HTTP
    header is the parent where it continues that trace, so that a broker's hops stay visible; else the creation context
    is, and the header becomes a link.
    Only what is `replayed` gets a trace of its own, or its sender's, that links to the event's: it is another story.
    """
    ambient = telemetry.extract(headers)
    if not created:
        return ambient, []
    origin = telemetry.extract({"traceparent": created})
    here, there = _span_context(ambient), _span_context(origin)
    if not there.is_valid:
        return ambient, []
    creation = Link(there, {Attr.LINK: LinkKind.CREATION})
    if here.is_valid and here.trace_id == there.trace_id:
        return ambient, [creation]
    if replayed:
        return ambient, [Link(there, {Attr.LINK: LinkKind.REPLAY})]
    return origin, [creation, *([Link(here, {Attr.LINK: LinkKind.AMBIENT})] if here.is_valid else [])]


def answered(span: Span, response: Response) -> Response:
    """Name the trace in the answer (W3C Trace Context, `traceresponse`)."""
    context = span.get_span_context()
    response.headers["traceresponse"] = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    return response


def _span_context(context: Context) -> SpanContext:
    return get_current_span(context).get_span_context()


def _healthy() -> Response:
    return Response("ok\n", content_type="text/plain")


def _http_problem(error: HTTPException) -> Response:
    answer = problem(error.code or 500, error.name, error.description or "")
    for name, value in error.get_headers():
        if name.lower() not in {"content-type", "content-length"}:
            answer.headers[name] = value
    return answer
