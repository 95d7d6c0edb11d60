"""A tap in the line between bridge and function: everything passes as it is, and is shown to whoever wants to see."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from cloudevents.core.v1.event import CloudEvent

from functions.dev.answer import Answer
from functions.dev.processes import LOOPBACK
from functions.dev.sender import REPORT, Sender
from functions.webapp import envelope
from functions.webapp.errors import WebAppError

Seen = Callable[[CloudEvent, Answer], None]
"""Told of each event and its answer, one at a time, after the answer went back."""

_HOP = frozenset({"connection", "content-length", "date", "host", "keep-alive", "server", "transfer-encoding"})


class PortTaken(WebAppError):
    """The tap cannot listen there; the message names the port."""

    error_type = "port_taken"


class Tap:
    """Listens on a loopback port and passes every POST on to one URL; a context manager.

    With `report` it asks the function for a report where the sender did not, tells it to `seen`, and gives the sender
    the empty answer that it would have had. What is no CloudEvent passes too, unseen.
    """

    def __init__(self, url: str, seen: Seen, *, port: int = 0, report: bool = False) -> None:
        self._sender = Sender(url)
        self._seen = seen
        self._report = report
        self._turn = threading.Lock()
        try:
            self._server = _Server((LOOPBACK, port), self)
        except OSError as error:
            raise PortTaken(f"port {port}: {error.strerror}; name another one, or 0 for any that is free") from None
        self.url = f"http://{LOOPBACK}:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._sender.__exit__()

    def passed(
        self, headers: list[tuple[str, str]], body: bytes, query: str
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Pass one request on and give back status, headers and body for the sender; 503 where no answer came."""
        kept = {name: value for name, value in headers if name.lower() not in _HOP}
        ours = self._report and "prefer" not in {name.lower() for name in kept}
        told, response = self._sender.post(kept | REPORT if ours else kept, body, query)
        if response is None:
            status, fields, content = 503, [("retry-after", "1"), _TEXT], f"{told.detail}\n".encode()
        else:
            fields = [(name, value) for name, value in response.headers.items() if name.lower() not in _HOP]
            status, content = response.status, response.data
            if ours and status == 200:
                status, content = 204, b""
                fields = [each for each in fields if each[0].lower() != "content-type"]
        with suppress(WebAppError):
            event = envelope.decode(headers, body)
            with self._turn:
                self._seen(event, told)
        return status, fields, content


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], tap: Tap) -> None:
        self.tap = tap
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        """Pass an event on."""
        length = self.headers.get("content-length", "")
        if not length.isdecimal():
            self._answer(411, [_TEXT], b"Content-Length is missing; send the whole event with its length\n")
            self.close_connection = True
            return
        _, _, query = self.path.partition("?")
        body = self.rfile.read(int(length))
        self._answer(*self.server.tap.passed(self.headers.items(), body, f"?{query}" if query else ""))

    def log_message(self, *_: Any) -> None:
        """Say nothing: what passed is told by who looks on."""

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # the sender did not wait
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            if status != 204:
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


_TEXT = ("content-type", "text/plain; charset=utf-8")  # problem details would say that a function looked at it
