"""A sink over real sockets whose answers a test decides, and which remembers what it was sent."""

from __future__ import annotations

import json
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.cluster.admin import until


@dataclass(frozen=True)
class Received:
    """One request."""

    headers: Mapping[str, str]
    data: Mapping[str, Any]

    @property
    def id(self) -> str:
        return self.headers["ce-id"] if "ce-id" in self.headers else str(self.data["id"])

    @property
    def type(self) -> str:
        """`webapp.modified` of `com.example.platform.webapp.modified.v1`."""
        return self.headers["ce-type"].removeprefix("com.example.platform.").removesuffix(".v1")

    @property
    def webapp(self) -> str:
        return self.headers.get("ce-webapp", "")


@dataclass(frozen=True)
class Reply:
    """What to answer."""

    status: int = 204
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


Script = Callable[[Received], Reply]


class ScriptedSink:
    """`answer` may be replaced at any time; it runs in the request's own thread, and may block."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answer: Script = lambda _: Reply()
        self.received: list[Received] = []
        self.in_flight: Counter[str] = Counter()
        self.most_in_flight: Counter[str] = Counter()
        self.most_at_once = 0
        self.connections = 0
        self._turn = threading.Lock()

    def take(self, found: Received) -> Reply:
        with self._turn:
            self.received.append(found)
            self.in_flight[found.webapp] += 1
            self.most_in_flight[found.webapp] = max(self.most_in_flight[found.webapp], self.in_flight[found.webapp])
            self.most_at_once = max(self.most_at_once, self.in_flight.total())
        try:
            return self.answer(found)
        finally:
            with self._turn:
                self.in_flight[found.webapp] -= 1

    def about(self, name: str) -> list[Received]:
        """What was said of one WebApp."""
        return [each for each in list(self.received) if each.webapp == name]

    def types(self, name: str) -> list[str]:
        return [each.type for each in self.about(name)]

    def wait(self, name: str, count: int, seconds: float = 30.0) -> list[Received]:
        """Wait until so many events about a WebApp have come."""
        until(lambda: len(self.about(name)) >= count, seconds)
        return self.about(name)

    def clear(self) -> None:
        self.received.clear()


@contextmanager
def scripted_sink(tls: ssl.SSLContext | None = None) -> Iterator[ScriptedSink]:
    """Serve on a loopback port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            sink.connections += 1
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = sink.take(Received(headers, json.loads(body)))
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.status != 204:
                self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass  # the bridge was killed, or gave up

    server = Server(("127.0.0.1", 0), Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    sink = ScriptedSink(f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}/")
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield sink
    finally:
        server.shutdown()
        server.server_close()
