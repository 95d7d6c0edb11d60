"""The one way to the Kubernetes API for bridge and functions: plain calls over kept connections, no hidden retries.

A `Call` is a value: what would be asked. `Api.send` asks it and maps every failure to `functions.webapp.errors`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

from opentelemetry.trace import SpanKind, Tracer

from functions.runtime import telemetry
from functions.runtime.answers import Answer, HttpError, Stream
from functions.runtime.connections import Connections, Patience, Request
from functions.runtime.credentials import Credentials, context
from functions.runtime.names import Attr
from functions.webapp.errors import ApiError, Conflict, NotFound, TestFailed, Unavailable, from_status
from functions.webapp.resources import MANAGER, RawObject, Resource

CONNECT_SECONDS = 3.0
READ_SECONDS = 10.0
_JSON = "application/json"
_JSON_PATCH = "application/json-patch+json"


@dataclass(frozen=True, slots=True)
class Call:
    """One request to the API server; `step` says what it is for (read, write, status, …)."""

    method: str
    resource: Resource
    namespace: str = ""
    name: str = ""
    sub: str = ""
    params: tuple[tuple[str, str], ...] = ()
    body: Any = None
    content_type: str = _JSON
    step: str = "read"

    @property
    def path(self) -> str:
        """Path and query."""
        path = self.resource.path(self.namespace, self.name, self.sub)
        return f"{path}?{urlencode(self.params)}" if self.params else path

    @property
    def template(self) -> str:
        """The path with names left open."""
        full = self.resource.template(name=bool(self.name), sub=self.sub)
        return full if self.namespace else full.replace("/namespaces/{namespace}", "")

    def __str__(self) -> str:
        return f"{self.method} {self.resource.path(self.namespace, self.name, self.sub)}"

    def dry(self) -> Call:
        """The same write as a server-side dry run; a DELETE says so in its body, beside which a query is not read."""
        if self.method == "DELETE":
            return replace(self, body={**self.body, "dryRun": ["All"]})
        return replace(self, params=(*self.params, ("dryRun", "All")))


def read(resource: Resource, namespace: str, name: str) -> Call:
    """A consistent read: without a resourceVersion the answer is the newest state (Kubernetes API concepts)."""
    return Call("GET", resource, namespace, name)


def create(resource: Resource, obj: RawObject) -> Call:
    """A POST; AlreadyExists where somebody was quicker."""
    meta = obj["metadata"]
    return Call("POST", resource, meta["namespace"], params=_MANAGER, body=obj, step="write")


def patch(resource: Resource, namespace: str, name: str, operations: list[dict[str, Any]]) -> Call:
    """A JSON Patch (RFC 6902); its own `test` and resourceVersion operations are its guard."""
    return Call(
        "PATCH", resource, namespace, name, params=_MANAGER, body=operations, content_type=_JSON_PATCH, step="write"
    )


def put(resource: Resource, obj: RawObject, sub: str = "") -> Call:
    """A whole replacement at the object's own resourceVersion, e.g. of `/status`."""
    meta = obj["metadata"]
    step = sub or "write"
    return Call("PUT", resource, meta["namespace"], meta["name"], sub, params=_MANAGER, body=obj, step=step)


def delete(resource: Resource, namespace: str, name: str, *, uid: str, version: str) -> Call:
    """A DELETE of exactly this incarnation at exactly this version."""
    body = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid, "resourceVersion": version},
        "propagationPolicy": "Background",
    }
    return Call("DELETE", resource, namespace, name, body=body, step="write")


_MANAGER = (("fieldManager", MANAGER),)


class Sender(Protocol):
    """What a reconcile needs of the world: one method."""

    def send(self, call: Call, *, timeout: float = READ_SECONDS, attempt: int = 1) -> dict[str, Any]:
        """The object that the API server answers with; raises ApiError."""
        ...


class Api:
    """A thread-safe client; one per process, with as many pooled connections as threads use it.

    `measure` is told how many seconds each call took, with the labels of `http.client.request.duration`.
    """

    def __init__(
        self,
        credentials: Credentials,
        tracer: Tracer,
        *,
        connections: int,
        user_agent: str,
        measure: Callable[[float, dict[str, str | int]], None] = lambda _seconds, _labels: None,
    ) -> None:
        self._credentials = credentials
        self._tracer = tracer
        self._measure = measure
        secure = context(credentials.tls) if credentials.tls else None
        self._connections = Connections(
            credentials.server,
            keep=connections,
            headers={"user-agent": user_agent, "accept": f"{_JSON}, */*;q=0.1"},  # keys are application/jwk-set+json
            tls=None if secure is None else lambda: secure,
            server_hostname=credentials.tls.get("server_hostname", ""),
        )
        self._server: dict[str, str | int] = {
            Attr.SERVER_ADDRESS: self._connections.host,
            Attr.SERVER_PORT: self._connections.port,
        }
        self._prefix = urlsplit(credentials.server).path.rstrip("/")

    def send(self, call: Call, *, timeout: float = READ_SECONDS, attempt: int = 1) -> dict[str, Any]:
        """Send one call within `timeout` seconds, as one CLIENT span of the current context; raises ApiError.

        A missing object, a conflict and a failed test are what guarded calls are for: no error of the span.
        """
        path, template = call.path, call.template
        attributes: dict[str, str | int] = {
            **self._server,
            Attr.HTTP_METHOD: call.method,
            Attr.URL_TEMPLATE: template,
            Attr.URL_FULL: f"{self._credentials.server}{path}",
            Attr.STEP: call.step,
            Attr.ATTEMPT: attempt,
        }
        name = f"{call.method} {template}"
        with telemetry.span(self._tracer, name, kind=SpanKind.CLIENT, attributes=attributes) as span:
            labels: dict[str, str | int] = {Attr.HTTP_METHOD: call.method, Attr.URL_TEMPLATE: template}
            started = time.perf_counter()
            try:
                answer = self._send(call, path, timeout, telemetry.inject({}, span))
                span.set_attribute(Attr.HTTP_STATUS, answer.status)
                labels[Attr.HTTP_STATUS] = answer.status
                if audit := answer.headers.get("audit-id"):
                    span.set_attribute(Attr.AUDIT_ID, audit)
                return _body(answer)
            except ApiError as error:
                if not isinstance(error, NotFound | Conflict | TestFailed):
                    telemetry.failed(span, error.error_type, str(error))
                    labels[Attr.ERROR_TYPE] = error.error_type
                raise
            finally:
                self._measure(time.perf_counter() - started, labels)

    def fetch(self, call: Call, *, timeout: float = READ_SECONDS) -> bytes:
        """The body as it came, without a span: for lists too long to stand in memory as objects. Raises ApiError."""
        answer = self._send(call, call.path, timeout, {})
        if answer.status != 200:
            _body(answer)  # raises
        return answer.data

    def stream(self, call: Call, *, idle: float) -> LineStream:
        """Open a watch; `idle` is how many seconds of silence end it. Raises ApiError where it is not granted."""
        try:
            answer = self._connections.open(self._request(call, call.path, {}), _patience(idle))
            if answer.status != 200:
                with answer:
                    _body(Answer(answer.status, answer.headers, answer.read()[0]))  # raises
        except HttpError as error:
            raise _unavailable(call, error) from error
        return LineStream(answer)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._connections.close()

    def _send(self, call: Call, path: str, timeout: float, headers: dict[str, str]) -> Answer:
        try:
            return self._connections.send(self._request(call, path, headers), _patience(timeout))
        except HttpError as error:
            raise _unavailable(call, error) from error

    def _request(self, call: Call, path: str, headers: dict[str, str]) -> Request:
        if authorization := self._credentials.authorization():
            headers["authorization"] = authorization
        if call.body is None:
            return Request(call.method, self._prefix + path, headers)
        headers["content-type"] = call.content_type
        body = json.dumps(call.body, separators=(",", ":")).encode()
        return Request(call.method, self._prefix + path, headers, body)


class LineStream:
    """The lines of one open watch; `close` may be called from another thread and ends the iteration."""

    def __init__(self, answer: Stream) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        """Whole lines as they arrive; ends when the server ends the watch, raises Unavailable when it breaks."""
        rest = b""
        try:
            with self._answer:
                for chunk in self._answer:
                    *lines, rest = (rest + chunk).split(b"\n")
                    yield from lines
        except HttpError as error:
            raise Unavailable(f"watch: {type(error).__name__}: {error}") from error

    def close(self) -> None:
        """End the watch."""
        self._answer.cut()


def _patience(seconds: float) -> Patience:
    return Patience(connect=min(seconds, CONNECT_SECONDS), answer=seconds)


def _unavailable(call: Call, error: HttpError) -> Unavailable:
    return Unavailable(f"{call}: {type(error).__name__}: {error}")


def _body(answer: Answer) -> dict[str, Any]:
    try:
        found = json.loads(answer.data or b"{}")
    except ValueError:
        found = None
    body: Mapping[str, Any] = (
        found if isinstance(found, dict) else {"message": answer.data[:200].decode(errors="replace")}
    )
    if answer.status >= 300:
        raise from_status(answer.status, body, retry_after=_seconds(answer.headers.get("retry-after")))
    if not isinstance(found, dict):
        raise Unavailable(f"the API server answered {answer.status} without a JSON object", code=answer.status)
    return found


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isdigit() else None
