"""One POST to the sink over a pooled connection: Knative's addressing, TLS and authentication, our time limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from event_bridge import answer
from event_bridge.answer import Answer
from event_bridge.settings import Destination
from event_bridge.trust import Trust
from functions.runtime.credentials import RotatingFile

_DRAIN_BYTES: Final = 64 * 1024


class NotAllowedError(Exception):
    """This process must not send just now; nothing was written."""


class Sink:
    """Where events go. `allowed` is asked after connecting, directly before the first byte of each request."""

    def __init__(self, to: Destination, *, allowed: Callable[[], bool]) -> None:
        self.url = to.url
        where = urlsplit(self.url)
        self.host, self.port = where.hostname or "", where.port or (443 if where.scheme == "https" else 80)
        self._target = (where.path or "/") + (f"?{where.query}" if where.query else "")
        self._token = RotatingFile(to.token) if to.token and to.token.exists() else None
        secure = where.scheme == "https"
        tls: dict[str, Any] = {"trust": Trust(to.ca_certs, to.bundles)} if secure else {}
        self._open = partial(
            urllib3.connection_from_url,
            f"{where.scheme}://{where.netloc.rpartition('@')[2]}",
            maxsize=to.connections,
            retries=False,
            timeout=urllib3.Timeout(connect=to.connect_seconds, read=to.response_seconds),
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
            whole = found.closed
            if not whole:
                found.close()  # longer than anyone reads
        except urllib3.exceptions.HTTPError as error:
            return answer.lost(_error_type(error), str(error))
        return answer.read(found.status, found.headers, text, datetime.now(UTC), whole=whole)

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
    def __init__(self, *args: Any, trust: Trust, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._trust = trust

    def connect(self) -> None:
        self.ssl_context = self._trust.context()
        super().connect()


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
