"""An aggregated API over HTTP, as kube-apiserver's aggregator asks for it: read-only, every error a Status.

Discovery, OpenAPI and health are ready-made and for everybody whom kube-apiserver vouches for: an API whose discovery
fails stops every namespace deletion of its cluster (kubernetes/kubernetes#60807).
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial

from flask import Flask, Response, g, request
from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanKind, get_current_span
from werkzeug.exceptions import HTTPException

from functions.aggregation import query, status
from functions.aggregation.authorization import Action
from functions.aggregation.collection import Collection
from functions.aggregation.documents import Document, documents
from functions.aggregation.endpoint import Endpoint, Request
from functions.aggregation.figures import Figures
from functions.aggregation.kind import Kind
from functions.aggregation.negotiation import Form, choose
from functions.aggregation.server import Parts
from functions.aggregation.status import JSON, StatusError
from functions.runtime import telemetry, web
from functions.runtime.names import Attr, LinkKind

HEALTH = ("/healthz", "/livez", "/readyz")
_BODY_LIMIT = 64 * 1024
_log = logging.getLogger(__name__)


def create_app(served: Mapping[Kind, Collection], parts: Parts, *, watches: int) -> Flask:
    """The WSGI app; at most `watches` run at once, each of which takes a thread of the server."""
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = _BODY_LIMIT
    app.url_map.merge_slashes = False
    app.url_map.strict_slashes = False
    figures = Figures(parts.registry)
    slots = threading.Semaphore(watches)

    def authenticate() -> None:
        g.user = parts.authenticate(request.environ)

    def count(response: Response) -> Response:
        figures.count(g.get("verb", "other"), response.status_code)
        return response

    app.before_request(authenticate)
    app.after_request(count)
    app.register_error_handler(StatusError, _told)
    app.register_error_handler(HTTPException, _unserved)
    app.register_error_handler(Exception, _defect)
    for path, forms in documents(list(served)).items():
        _route(app, path, partial(_document, forms))
    for path in HEALTH:
        _route(app, path, lambda: Response("ok", content_type="text/plain"))
    for kind, collection in served.items():
        view = partial(_resource, Endpoint(kind, collection, slots, figures), parts)
        for path in (kind.resource.path(""), kind.resource.path("<namespace>")):
            _route(app, path, view)
        _route(app, kind.resource.path("<namespace>", "<name>"), view)
    return app


def _route(app: Flask, path: str, view: Callable[..., Response]) -> None:
    app.add_url_rule(path, path, view, methods=["GET"], provide_automatic_options=False)


def _document(forms: Mapping[Form, Document]) -> Response:
    found = forms[choose(request.headers.get("accept", ""), forms)]
    answer = Response(found.body, content_type=found.media_type, headers={"vary": "accept"})
    answer.set_etag(found.digest)
    answer.make_conditional(request)
    return answer


def _resource(endpoint: Endpoint, parts: Parts, namespace: str = "", name: str = "") -> Response:
    """A get, list or watch, as a trace of its own: the API server's is linked, its sampling is not ours to follow."""
    resource = endpoint.kind.resource
    g.verb = "get" if name else "watch" if query.is_watch(request.args) else "list"
    with telemetry.span(
        parts.tracer,
        f"{g.verb} {resource.plural}",
        context=Context(),
        kind=SpanKind.SERVER,
        links=_caller(),
        attributes={
            Attr.HTTP_METHOD: request.method,
            Attr.HTTP_ROUTE: resource.path("{namespace}" if namespace else "", "{name}" if name else ""),
            Attr.API_VERB: g.verb,
            Attr.API_RESOURCE: f"{resource.plural}.{resource.group}",
        },
    ) as span:
        try:
            answer = _answer(endpoint, parts, namespace, name)
        except StatusError as error:
            if error.code >= 500:
                telemetry.failed(span, error.error_type, str(error))
            answer = _told(error)
        span.set_attribute(Attr.HTTP_STATUS, answer.status_code)
        return web.answered(span, answer)


def _answer(endpoint: Endpoint, parts: Parts, namespace: str, name: str) -> Response:
    asked = Request(namespace, request.args, request.headers.get("accept", ""), request.environ)
    resource = endpoint.kind.resource
    if name:
        parts.authorize(g.user, Action("get", resource, namespace, name))
        return endpoint.get(asked, name)
    chosen = query.selection(asked.parameters, endpoint.kind, namespace)
    parts.authorize(g.user, Action(g.verb, resource, namespace, chosen.name))
    return endpoint.watch(asked) if g.verb == "watch" else endpoint.list(asked)


def _caller() -> list[Link]:
    headers = {name.lower(): value for name, value in request.headers.items()}
    found = get_current_span(telemetry.extract(headers)).get_span_context()
    return [Link(found, {Attr.LINK: LinkKind.AMBIENT})] if found.is_valid else []


def _told(error: StatusError) -> Response:
    answer = Response(json.dumps(error.document()), error.code, content_type=JSON)
    if error.retry_after:
        answer.headers["retry-after"] = str(error.retry_after)
    return answer


def _unserved(error: HTTPException) -> Response:
    """What the routes do not know: paths, and methods that would change something."""
    if error.code == 405:
        return _told(status.MethodNotAllowed("the server does not allow this method on the requested resource"))
    if error.code == 404:
        return _told(status.NotFound("the server could not find the requested resource"))
    return _told(status.BadRequest(error.description or error.name))


def _defect(error: Exception) -> Response:
    _log.error("unexpected error", exc_info=error)
    return _told(StatusError("an unexpected error, told in the logs"))
