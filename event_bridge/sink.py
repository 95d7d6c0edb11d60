"""One POST to the sink over a pooled connection: Knative's addressing, TLS and authentication, our time limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, urlsplit

from event_bridge import answer
from event_bridge.answer import Answer
from event_bridge.settings import Destination
from event_bridge.trust import Trust
from functions.runtime.answers import HttpError
from functions.runtime.connections import Connections, Patience, Request
from functions.runtime.rotation import RotatingFile

_DRAIN_BYTES: Final = 64 * 1024


class NotAllowedError(Exception):
    """This process must not send just now; nothing was written."""


class Sink:
    """Where events go. `allowed` is asked after connecting, directly before the first byte of each request."""

    def __init__(self, to: Destination, *, allowed: Callable[[], bool]) -> None:
        self.url = to.url
        where = urlsplit(self.url)
        self._target = _encoded(where.path or "/") + (f"?{_encoded(where.query)}" if where.query else "")
        self._patience = Patience(to.connect_seconds, to.response_seconds)
        self._allowed = allowed
        self._connections = Connections(
            self.url,
            keep=to.connections,
            headers={"accept": "*/*"},
            tls=Trust(to.ca_certs, to.bundles).context if where.scheme == "https" else None,
            ready=self._check,
        )
        self.host, self.port = self._connections.host, self._connections.port
        self._token = RotatingFile(to.token) if to.token and to.token.exists() else None

    def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send one event and read the answer; raises NotAllowedError, and nothing else."""
        if self._token and (token := self._token.read()):
            headers = {**headers, "authorization": f"Bearer {token}"}
        try:
            request = Request("POST", self._target, headers, body)
            found = self._connections.send(request, self._patience, limit=_DRAIN_BYTES)
        except HttpError as error:
            return answer.lost(error.error_type, str(error))
        return answer.read(found.status, found.headers, found.data, datetime.now(UTC), whole=found.whole)

    def rest(self) -> None:
        """Nothing is to be sent for a while: give the connections back."""
        self._connections.close()

    def _check(self) -> None:
        if not self._allowed():
            raise NotAllowedError


def _encoded(text: str) -> str:
    """What a URL may be written with but a request may not: everything that is not ASCII (RFC 3986 section 2.1)."""
    return quote(text, safe="!#$%&'()*+,/:;=?@[]~")
