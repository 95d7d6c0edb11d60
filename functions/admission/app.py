"""The two webhooks over HTTP: `/mutate` and `/validate` take an AdmissionReview and answer one.

A verdict is always 200. Everything else is a failed call, which failurePolicy rules, and carries no Retry-After: the
API server would repeat the call ten times within its time-out.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from flask import Flask, Response, request
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Tracer, get_current_span

from functions.admission import review as envelope
from functions.admission.figures import Figures
from functions.admission.review import Review
from functions.admission.settings import BODY_LIMIT, Settings
from functions.admission.verdict import Reason, Verdict
from functions.runtime import telemetry, web
from functions.runtime.names import Attr, LinkKind
from functions.webapp import strict_json

_log = logging.getLogger("functions.admission")
Decide = Callable[[Review], Verdict]


def create_app(settings: Settings, tracer: Tracer, figures: Figures) -> Flask:
    """The WSGI app."""
    app = web.skeleton(__name__, body_limit=BODY_LIMIT)

    def mutate(review: Review) -> Verdict:
        asked = review.is_pod and not review.subresource and review.operation == "CREATE"
        return settings.injector.inject(review.obj) if asked else Verdict(Reason.NOT_OURS)

    for webhook, decide in {"mutate": mutate, "validate": settings.guard.judge}.items():
        view = partial(_answer, webhook, decide, tracer, figures)
        app.add_url_rule(f"/{webhook}", webhook, view, methods=["POST"])
    return app


def _answer(webhook: str, decide: Decide, tracer: Tracer, figures: Figures) -> Response:
    """One review, as a trace of its own: the API server's is linked, since its sampling is not ours to follow."""
    caller = get_current_span(
        telemetry.extract({name.lower(): value for name, value in request.headers.items()})
    ).get_span_context()
    with telemetry.span(
        tracer,
        f"POST /{webhook}",
        context=Context(),
        kind=SpanKind.SERVER,
        links=[Link(caller, {Attr.LINK: LinkKind.AMBIENT})] if caller.is_valid else [],
        attributes={Attr.HTTP_METHOD: "POST", Attr.HTTP_ROUTE: f"/{webhook}", Attr.ADMISSION_WEBHOOK: webhook},
    ) as span:
        try:
            answer = _decided(webhook, decide, figures, span)
        except envelope.MalformedReview as error:
            _log.warning(
                "refused", extra={"fields": {"webhook": webhook, "error": error.error_type, "detail": str(error)}}
            )
            answer = web.refusal(error, traceId=telemetry.trace_id(span))
        span.set_attribute(Attr.HTTP_STATUS, answer.status_code)
        return web.answered(span, answer)


def _decided(webhook: str, decide: Decide, figures: Figures, span: Span) -> Response:
    begun = time.monotonic()
    review = envelope.parse(web.body(BODY_LIMIT))
    verdict = decide(review)
    span.set_attributes(
        {
            Attr.ADMISSION_OPERATION: review.operation,
            Attr.ADMISSION_DECISION: verdict.decision,
            Attr.ADMISSION_REASON: str(verdict.reason),
            Attr.DRY_RUN: review.dry_run,
            Attr.NAMESPACE: review.namespace,
            Attr.OBJECT_KIND: review.kind,
            Attr.OBJECT_NAME: review.title,
        }
    )
    figures.count(webhook, review.operation, verdict)
    told = {
        "webhook": webhook,
        "operation": review.operation,
        "object": f"{review.kind} {review.namespace}/{review.title}",
        "decision": verdict.decision,
        "reason": str(verdict.reason),
        "dry_run": review.dry_run,
        "duration_ms": round((time.monotonic() - begun) * 1000, 1),
        "trace_id": telemetry.trace_id(span),
    }
    _log.log(logging.DEBUG if verdict.decision == "allowed" else logging.INFO, "decided", extra={"fields": told})
    return Response(strict_json.dumps(envelope.answer(review, verdict)), content_type="application/json")
