"""One HTTP exchange with the identity provider: verified TLS, one budget for all of it, no retries, no redirects."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import urllib3
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Tracer

from functions.authn.verdict import Failure, Fault
from functions.runtime import telemetry
from functions.runtime.names import Attr

ANSWER_LIMIT = 256 * 1024
_CHUNK = 16 * 1024


@dataclass(frozen=True, slots=True)
class Answered:
    """What the provider said with a status that is about the token or about us, never about its own health."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def document(self) -> dict[str, Any] | None:
        """The body as a JSON object, or None where it is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None


class Exchange:
    """A thread-safe client for one provider; `seconds` bound each exchange from the first byte to the last.

    Neither headers nor bodies get into spans, logs or errors: both carry tokens.
    """

    def __init__(self, base: str, ca: Path | None, tracer: Tracer, *, seconds: float, connections: int) -> None:
        where = urlsplit(base)
        self._prefix = where.path.rstrip("/")
        self._seconds = seconds
        self._tracer = tracer
        self._server: dict[str, str | int] = {Attr.SERVER_ADDRESS: where.hostname or ""}
        if where.port:
            self._server[Attr.SERVER_PORT] = where.port
        tls = {"cert_reqs": "CERT_REQUIRED", **({"ca_certs": str(ca)} if ca else {})} if where.scheme == "https" else {}
        origin = f"{where.scheme}://{where.netloc}"
        self._pool = urllib3.connection_from_url(
            origin, maxsize=connections, retries=False, headers={"accept": "application/json"}, **tls
        )

    def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, context: Context
    ) -> Answered | Failure:
        """Ask once, as a CLIENT span of `context`; infrastructure's failures come back as such."""
        template = self._prefix + path or "/"
        attributes = {**self._server, Attr.HTTP_METHOD: method, Attr.URL_TEMPLATE: template}
        with self._tracer.start_as_current_span(
            f"{method} {template}", context=context, kind=SpanKind.CLIENT, attributes=attributes
        ) as span:
            sent = telemetry.inject({**headers}, span)
            found = self._judged(method, template, sent, body)
            if isinstance(found, Failure):
                telemetry.failed(span, found.fault, found.fault.text)
            else:
                span.set_attribute(Attr.HTTP_STATUS, found.status)
            return found

    def _judged(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answered | Failure:
        try:
            found = self._exchange(method, path, headers, body)
        except urllib3.exceptions.NewConnectionError:  # one of urllib3's time-outs, but nobody was waited for
            return Failure(Fault.UNREACHABLE)
        except urllib3.exceptions.TimeoutError:
            return Failure(Fault.TIMEOUT)
        except urllib3.exceptions.HTTPError:
            return Failure(Fault.UNREACHABLE)
        if isinstance(found, Answered) and (found.status == 429 or found.status >= 500):
            fault = Fault.THROTTLED if found.status == 429 else Fault.STATUS
            return Failure(fault, _retry_after(found.headers))
        return found

    def _exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answered | Failure:
        end = time.monotonic() + self._seconds
        answer = self._pool.request(
            method,
            path,
            body=body,
            headers={**self._pool.headers, **headers},
            timeout=urllib3.Timeout(total=self._seconds),
            redirect=False,
            preload_content=False,
        )
        read = bytearray()
        try:
            while chunk := answer.read1(_CHUNK):
                read += chunk
                if len(read) > ANSWER_LIMIT:
                    return Failure(Fault.MALFORMED)
                if time.monotonic() > end:
                    return Failure(Fault.TIMEOUT)
            answer.release_conn()
        finally:
            if answer.connection is not None:
                answer.close()
        return Answered(answer.status, answer.headers, bytes(read))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of a `Retry-After` (RFC 9110 section 10.2.3); its date form is not worth a clock that may differ."""
    text = headers.get("retry-after", "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
