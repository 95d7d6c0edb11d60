"""One answer of HTTP/1.1, as it comes or as a whole, and how it can fail. Parsing is llhttp's, by way of httptools.

HttpError
├── NotConnected   no connection within its time
├── BadTls         no trust, or what came was no TLS
├── TimedOut       silence, or the whole answer, took longer than was allowed
└── Broken         the connection ended before the answer did, or what came is no HTTP
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

_CHUNK: Final = 16 * 1024
"""What one TLS record holds (RFC 8446 section 5.1)."""


class HttpError(Exception):
    """There is no answer, or not all of it; whether the request had an effect is not known."""

    error_type = "broken"
    """As in metrics and logs."""


class NotConnected(HttpError):
    """No connection could be opened in time: nothing was sent."""

    error_type = "connect"


class BadTls(HttpError):
    """The peer is not trusted, does not trust us, or does not speak TLS."""

    error_type = "tls"


class TimedOut(HttpError):
    """Nothing came for as long as was allowed, or too little to be the answer."""

    error_type = "timeout"


class Broken(HttpError):
    """The connection ended, or what came is no answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`headers` by their names in lower case, repeated ones joined; `whole` is False where the body was too long."""

    status: int
    headers: Mapping[str, str]
    data: bytes
    whole: bool = True


class Stream:
    """One answer, whose headers are there; a context that closes its connection, unless that was released before.

    It has to be over by `until`, a time of the monotonic clock, if there is one.
    """

    def __init__(self, sock: socket.socket, until: float | None = None) -> None:
        self._sock: socket.socket | None = sock
        self._until = until
        self._message = _Message()
        while not self._message.headed:
            if not self._more(sock):
                raise Broken("the connection ended before there was an answer")
        self.status: int = self._message.status
        self.headers: Mapping[str, str] = self._message.headers

    def __iter__(self) -> Iterator[bytes]:
        """The body piece by piece; raises HttpError where it breaks off."""
        message, sock = self._message, self._sock
        while sock is not None:
            parts, message.parts = message.parts, []
            yield from parts
            if message.complete or not self._more(sock):
                return

    def read(self, limit: int = 0) -> tuple[bytes, bool]:
        """What is left of the body, and whether that is all; with a limit it ends there."""
        parts: list[bytes] = []
        size = 0
        for part in self:
            parts.append(part)
            size += len(part)
            if limit and size > limit:
                return b"".join(parts), False
        return b"".join(parts), True

    @property
    def can_be_kept(self) -> bool:
        """Whether the connection can carry another request."""
        return self._message.complete and not self._message.surplus and self._message.keeps

    def release(self) -> socket.socket:
        """The connection, which is the caller's from now on."""
        assert self._sock is not None  # noqa: S101 - it is released once
        sock, self._sock = self._sock, None
        return sock

    def cut(self) -> None:
        """End the iteration of another thread, which closes the connection then."""
        if sock := self._sock:
            with suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # SSLSocket's own would pull TLS from under the reader

    def close(self) -> None:
        """Close the connection; what still comes is lost."""
        sock, self._sock = self._sock, None
        if sock is not None:
            sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _more(self, sock: socket.socket) -> bool:
        """Read on; False at the end of a body that the connection's end ends."""
        try:
            if self._until is not None:
                sock.settimeout(_left(self._until))
            data = sock.recv(_CHUNK)
        except OSError as error:
            raise told(error) from error
        if data:
            self._message.feed(data)
            return True
        if self._message.headed and self._message.ends_with_connection:
            return False
        raise Broken("the connection ended before the answer did")


class _Message:
    """One answer as llhttp tells of it; interim ones (RFC 9110 section 15.2) are passed over."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.parts: list[bytes] = []
        self.headed = self.complete = self.surplus = self.keeps = False
        self._parser = HttpResponseParser(self)

    @property
    def ends_with_connection(self) -> bool:
        return "content-length" not in self.headers and "transfer-encoding" not in self.headers

    def feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            raise Broken(f"this is no answer of HTTP/1.1: {error}") from error

    def on_message_begin(self) -> None:
        self.surplus = self.complete

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.surplus:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        if not self.surplus:
            self.status = self._parser.get_status_code()
            self.headed = self.status >= 200

    def on_body(self, body: bytes) -> None:
        if not self.surplus:
            self.parts.append(body)

    def on_message_complete(self) -> None:
        if self.headed:
            self.complete, self.keeps = True, self._parser.should_keep_alive()
        else:
            self.headers = {}


def _left(until: float) -> float:
    """Seconds; a socket would take none to mean that it must not wait, and what is negative for a mistake."""
    if (seconds := until - time.monotonic()) <= 0:
        raise TimeoutError("the answer takes longer than was allowed")
    return seconds


def told(error: OSError) -> HttpError:
    """What a broken socket means for the exchange that used it."""
    match error:
        case TimeoutError():
            return TimedOut(str(error))
        case ssl.SSLEOFError() | ssl.SSLZeroReturnError():
            return Broken(str(error))
        case ssl.SSLError():
            return BadTls(str(error))
        case _:
            return Broken(str(error))
