"""The authentication webhook over HTTP: `POST /authenticate` with a TokenReview.

Every TokenReview is answered with 200, an outage included: kube-apiserver repeats a 5xx or a 429 up to five times, and
up to fifty times where the answer names a Retry-After (apiserver `webhook.go`, client-go `rest/request.go`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import ssl
from collections.abc import Mapping
from typing import Any

from flask import Flask, Response, request
from opentelemetry.trace import Span, SpanKind, Tracer, set_span_in_context

from functions.authn import review
from functions.authn.audience import Audiences
from functions.authn.authenticator import Authenticator
from functions.authn.callers import Callers
from functions.authn.gate import Answer, Source
from functions.authn.measures import Measures
from functions.authn.review import MalformedReview, Review
from functions.authn.verdict import Active, Failure, Inactive
from functions.runtime import telemetry, web
from functions.runtime.names import Attr
from functions.runtime.names import Span as SpanName

BODY_LIMIT = 64 * 1024
_READ_LIMIT = 2 * 1024 * 1024
"""More than kube-apiserver's own limit on headers (1 MiB): a body that is left unread costs the connection, and with it
the next user's TokenReview, so a huge token is read to its end before it is refused."""

_log = logging.getLogger("functions.authn")


def create_app(webhook: Webhook) -> Flask:
    """The WSGI app."""
    app = web.skeleton(__name__, body_limit=BODY_LIMIT)
    app.add_url_rule("/authenticate", "authenticate", webhook.authenticate, methods=["POST"])
    return app


class Webhook:
    """One TokenReview at a time, from any number of threads."""

    def __init__(
        self, authenticator: Authenticator, callers: Callers, audiences: Audiences, measures: Measures, tracer: Tracer
    ) -> None:
        self._authenticator = authenticator
        self._callers = callers
        self._audiences = audiences
        self._measures = measures
        self._tracer = tracer

    def authenticate(self) -> Response:
        """The view."""
        admitted = self._callers.admit(_peer(), request.headers.get("authorization"))
        request.max_content_length = _READ_LIMIT
        body = request.stream.read(_READ_LIMIT if admitted else BODY_LIMIT)
        with self._tracer.start_as_current_span(
            SpanName.AUTHENTICATE,
            context=telemetry.extract(dict(request.headers)),
            kind=SpanKind.SERVER,
            attributes={Attr.HTTP_METHOD: "POST", Attr.HTTP_ROUTE: "/authenticate"},
        ) as span:
            answer = self._respond(body, span) if admitted else self._reject()
            span.set_attribute(Attr.HTTP_STATUS, answer.status_code)
            return web.answered(span, answer)

    def _reject(self) -> Response:
        self._measures.rejected.labels("caller").inc()
        detail = "show the client certificate or the bearer token of the API server's webhook kubeconfig"
        return web.problem(401, "unknown_caller", detail)

    def _respond(self, body: bytes, span: Span) -> Response:
        if len(body) > BODY_LIMIT:
            self._measures.rejected.labels("body").inc()
            return web.problem(413, "review_too_large", f"a TokenReview has at most {BODY_LIMIT} bytes")
        try:
            asked = review.parse(body)
        except MalformedReview as error:
            self._measures.rejected.labels("body").inc()
            return web.refusal(error)
        answer = self._authenticator.authenticate(asked.token, asked.audiences, set_span_in_context(span))
        outcome, document = self._document(asked, answer)
        self._tell(span, answer, outcome)
        return Response(json.dumps(document), 200, content_type="application/json")

    def _document(self, asked: Review, answer: Answer) -> tuple[str, dict[str, Any]]:
        if isinstance(answer.result, Failure):
            return "unavailable", review.unavailable(asked, answer.result)
        if isinstance(answer.result, Active):
            shared = self._audiences.shared(answer.result, asked.audiences)
            if shared is not None:
                named = shared if asked.audiences else ()
                return "authenticated", review.accepted(asked, answer.result, named)
        return "refused", review.refused(asked)

    def _tell(self, span: Span, answer: Answer, outcome: str) -> None:
        self._measures.decisions.labels(outcome, answer.source).inc()
        if answer.source is Source.STALE:
            self._measures.stale.inc()
        told: dict[str, str] = {Attr.AUTHN_SOURCE: answer.source, Attr.AUTHN_BREAKER: self._authenticator.state()}
        if outcome == "refused":
            told[Attr.AUTHN_REFUSAL] = answer.result.why if isinstance(answer.result, Inactive) else "audience"
        if isinstance(answer.result, Active):
            told[Attr.USER_HASH] = hashlib.sha256(answer.result.identity.username.encode()).hexdigest()[:16]
        elif isinstance(answer.result, Failure):
            telemetry.failed(span, answer.result.fault, answer.result.fault.text)
        if answer.covers:
            told[Attr.AUTHN_COVERS] = answer.covers
        span.set_attributes({Attr.AUTHN_DECISION: outcome, **told})
        _log.debug(outcome, extra={"fields": {**told, "trace_id": telemetry.trace_id(span)}})


def _peer() -> Mapping[str, Any] | None:
    """The verified client certificate of this request's connection, as the TLS profile leaves it."""
    connection = request.environ.get("gunicorn.socket")
    return connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
