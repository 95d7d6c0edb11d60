"""HTTP/1.1 over kept connections: one write for a request, and no retry, redirect, proxy or decompression.

A general client spends three times the CPU on a request to the API server (measured: urllib3 0.62 ms, this 0.19 ms),
and such requests are most of what a reconcile costs. How an exchange can fail is told in `answers`.
"""

from __future__ import annotations

import re
import select
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from functions.runtime.answers import Answer, BadTls, NotConnected, Stream, told

_FRESH_SECONDS: Final = 0.5
"""A connection that was in use so shortly ago is taken to be open; others are looked at first."""

_NO_TARGET: Final = re.compile(r"[^!-~]")


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds for a connection to stand, and for the answer: the whole of it, or each next piece of a stream."""

    connect: float
    answer: float


@dataclass(frozen=True, slots=True)
class Request:
    """`target` is path and query, printable ASCII only."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None = None

    def written(self, fixed: str) -> bytes:
        """The bytes to send, with the header lines `fixed` first; ValueError for what would be more than one."""
        if _NO_TARGET.search(self.target):
            raise ValueError(f"{self.target!r} is no target of a request: encode what is not printable ASCII")
        more = "".join([f"{name}: {value}\r\n" for name, value in self.headers.items()])
        if not more.count("\r") == more.count("\n") == len(self.headers):
            raise ValueError(f"one of the headers {', '.join(self.headers)} holds a line break")
        if self.body is not None:
            more = f"{more}content-length: {len(self.body)}\r\n"
        head = f"{self.method} {self.target} HTTP/1.1\r\n{fixed}{more}\r\n".encode("latin-1")
        return head + self.body if self.body else head


class Connections:
    """Connections to one server, thread-safe: as many as are in use at once, of which `keep` stay open afterwards.

    `tls` is asked for the context of each new connection, `ready` directly before the first byte of each request; what
    it raises is raised, and nothing was sent.
    """

    def __init__(  # noqa: PLR0913 - what a server can need
        self,
        url: str,
        *,
        keep: int,
        headers: Mapping[str, str],
        tls: Callable[[], ssl.SSLContext] | None = None,
        server_hostname: str = "",
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        where = urlsplit(url)
        self.host, self.port = where.hostname or "", where.port or (443 if where.scheme == "https" else 80)
        fixed = {"host": where.netloc.rpartition("@")[2], "accept-encoding": "identity", **headers}
        self._fixed = "".join(f"{name}: {value}\r\n" for name, value in fixed.items())
        self._tls, self._name = tls, server_hostname or self.host
        self._ready, self._keep = ready, keep
        self._lock = threading.Lock()
        self._idle: list[tuple[socket.socket, float]] = []
        weakref.finalize(self, _close_all, self._idle).atexit = False

    def send(self, request: Request, patience: Patience, *, limit: int = 0) -> Answer:
        """The whole answer, or, of one that is longer, just more than `limit` bytes; raises HttpError."""
        with self._begin(request, patience, hard=True) as stream:
            data, whole = stream.read(limit)
            if whole and stream.can_be_kept:
                self._give(stream.release())
        return Answer(stream.status, stream.headers, data, whole)

    def open(self, request: Request, patience: Patience) -> Stream:
        """The answer as it comes, from its headers on; raises HttpError."""
        return self._begin(request, patience, hard=False)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with self._lock:
            _close_all(self._idle)

    def _begin(self, request: Request, patience: Patience, *, hard: bool) -> Stream:
        written = request.written(self._fixed)
        sock = self._take() or self._connect(patience.connect)
        try:
            self._ready()
            return _begun(sock, written, patience.answer, hard=hard)
        except BaseException:
            sock.close()
            raise

    def _connect(self, seconds: float) -> socket.socket:
        try:
            sock = socket.create_connection((self.host, self.port), seconds)
        except OSError as error:
            raise NotConnected(f"{self.host}:{self.port}: {error}") from error
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return self._tls().wrap_socket(sock, server_hostname=self._name) if self._tls else sock
        except ssl.SSLError as error:
            sock.close()
            raise BadTls(f"{self.host}:{self.port}: {error}") from error
        except OSError as error:
            sock.close()
            raise NotConnected(f"{self.host}:{self.port}: {error}") from error

    def _take(self) -> socket.socket | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                sock, since = self._idle.pop()
            if time.monotonic() - since < _FRESH_SECONDS or not _has_something_to_say(sock):
                return sock
            sock.close()

    def _give(self, sock: socket.socket) -> None:
        with self._lock:
            if len(self._idle) < self._keep:
                self._idle.append((sock, time.monotonic()))
                return
        sock.close()


def _close_all(idle: list[tuple[socket.socket, float]]) -> None:
    while idle:
        idle.pop()[0].close()


def _begun(sock: socket.socket, written: bytes, seconds: float, *, hard: bool) -> Stream:
    until = time.monotonic() + seconds if hard else None
    try:
        sock.settimeout(seconds)
        sock.sendall(written)
    except (BrokenPipeError, ConnectionResetError):
        pass  # whoever takes no more of it may have said why: 413
    except OSError as error:
        raise told(error) from error
    return Stream(sock, until)


def _has_something_to_say(sock: socket.socket) -> bool:
    """Between two requests that can only be its end."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
