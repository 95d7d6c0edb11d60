"""One POST to the sink over a pooled connection: Knative's addressing, TLS and authentication, our time limits."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from event_bridge import answer
from event_bridge.answer import Answer
from event_bridge.settings import Settings
from functions.runtime.credentials import RotatingFile
from functions.runtime.settings import SettingsError

TRUST_BUNDLES: Final = Path("/knative-custom-certs")
"""Where Knative mounts further certificate authorities."""

_DRAIN_BYTES: Final = 64 * 1024


class NotAllowedError(Exception):
    """This process must not send just now; nothing was written."""


class Sink:
    """Where events go. `allowed` is asked after connecting, directly before the first byte of each request."""

    def __init__(self, settings: Settings, *, allowed: Callable[[], bool]) -> None:
        self.url = settings.sink
        where = urlsplit(self.url)
        self.host, self.port = where.hostname or "", where.port or (443 if where.scheme == "https" else 80)
        self._target = (where.path or "/") + (f"?{where.query}" if where.query else "")
        self._token = RotatingFile(settings.oidc_token) if settings.oidc_token.exists() else None
        secure = where.scheme == "https"
        tls: dict[str, Any] = {"ssl_context": _trust(settings.ca_certs)} if secure else {}
        self._open = partial(
            urllib3.connection_from_url,
            f"{where.scheme}://{where.netloc.rpartition('@')[2]}",
            maxsize=settings.concurrency,
            retries=False,
            timeout=urllib3.Timeout(connect=settings.connect_seconds, read=settings.response_seconds),
            allowed=allowed,
            **tls,
        )
        self._connection = _GuardedTls if secure else _Guarded
        self._pool = self._new()

    def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send one event and read the answer; raises NotAllowedError, and nothing else."""
        if self._token and (token := self._token.read()):
            headers = {**headers, "authorization": f"Bearer {token}"}
        try:
            found = self._pool.urlopen(
                "POST", self._target, body=body, headers=headers, redirect=False, preload_content=False
            )
            text = found.read(_DRAIN_BYTES)
            if not found.closed:
                found.close()  # longer than anyone reads
        except urllib3.exceptions.HTTPError as error:
            return answer.lost(_error_type(error), str(error))
        return answer.read(found.status, found.headers, text, datetime.now(UTC))

    def rest(self) -> None:
        """Nothing is to be sent for a while: give the connections back. Nobody may be sending meanwhile."""
        old, self._pool = self._pool, self._new()
        old.close()

    def _new(self) -> urllib3.HTTPConnectionPool:
        pool = self._open()
        pool.ConnectionCls = self._connection
        return pool


class _Guarded(HTTPConnection):
    def __init__(self, *args: Any, allowed: Callable[[], bool], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._allowed = allowed

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        if not self._allowed():
            raise NotAllowedError
        super().send(data)


class _GuardedTls(_Guarded, HTTPSConnection):
    pass


def _trust(ca_certs: str) -> ssl.SSLContext:
    """The system's authorities, those that Knative names, and those that it mounts."""
    context = ssl.create_default_context()
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # as `functions.runtime.credentials.context`, and as Knative itself
    if ca_certs:
        try:
            context.load_verify_locations(cadata=ca_certs)
        except (ssl.SSLError, ValueError) as error:
            raise SettingsError(f"K_CA_CERTS: {error}; it must hold certificates in PEM") from None
    for bundle in sorted(TRUST_BUNDLES.glob("*.pem")):
        context.load_verify_locations(cafile=bundle)
    return context


def _error_type(error: urllib3.exceptions.HTTPError) -> str:
    match error:
        case urllib3.exceptions.ConnectTimeoutError() | urllib3.exceptions.NewConnectionError():
            return "connect"
        case urllib3.exceptions.TimeoutError():
            return "timeout"
        case urllib3.exceptions.SSLError():
            return "tls"
        case _:
            return "broken"
