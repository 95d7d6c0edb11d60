"""Servers on loopback with TLS whose answers a test scripts; each counts what reaches it."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import struct
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from functions.dev.processes import LOOPBACK


class Handler(BaseHTTPRequestHandler):
    """Reads a request, hands it to the server's `respond`, and counts it."""

    protocol_version = "HTTP/1.1"
    server: Scripted

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.calls.append(time.monotonic())
        with suppress(OSError):
            self.server.respond(self, body)

    def do_GET(self):
        self.do_POST()

    def answer(self, status, document=None, headers=()):
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": len(body), **dict(headers)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def reset(self):
        """End the connection with an RST, in the middle of the exchange."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        socket.socket.close(self.connection)

    def log_message(self, *_):
        pass


class Scripted(ThreadingHTTPServer):
    """A server in threads of the test; `calls` holds the moments (monotonic) at which requests came."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, pair=None, port=0):
        super().__init__((LOOPBACK, port), Handler)
        self.calls: list[float] = []
        self._open: set[socket.socket] = set()
        self.port = self.server_address[1]
        self.url = f"{'https' if pair else 'http'}://{LOOPBACK}:{self.port}"
        self._context = None
        if pair:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(pair.certificate, pair.key)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def respond(self, handler, body):
        raise NotImplementedError

    def finish_request(self, request, client_address):
        """Shake hands in the thread of the connection."""
        if self._context:
            request.settimeout(100)
            try:
                request = self._context.wrap_socket(request, server_side=True)
            except OSError:
                return
        self._open.add(request)
        with suppress(OSError):
            super().finish_request(request, client_address)
        self._open.discard(request)
        request.close()

    def handle_error(self, request, client_address):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Let nobody go on talking over a connection that was kept."""
        self.shutdown()
        self.server_close()
        for connection in [*self._open]:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class Front(Scripted):
    """Before a real introspection endpoint; `mode` is `pass`, a status, `reset`, `hang`, or seconds to wait first.

    With `secrets` set, other client credentials than those are answered 401.
    """

    def __init__(self, port, path, pair):
        super().__init__(pair)
        self.url += path
        self.mode: str | int | float = "pass"
        self.retry_after: str | None = None
        self.secrets: set[str] | None = None
        self.shown: list[str] = []
        self.upstream = port
        self.patience = 120.0

    def respond(self, handler, body):
        self.shown.append(handler.headers.get("authorization", ""))
        if self.secrets is not None and self.shown[-1] not in self.secrets:
            handler.answer(401)
            return
        mode = self.mode
        if mode == "reset":
            handler.reset()
        elif mode == "hang":
            time.sleep(60)
        elif isinstance(mode, int):
            handler.answer(mode, headers={"retry-after": self.retry_after} if self.retry_after else {})
        else:
            if isinstance(mode, float):
                time.sleep(mode)
            self._forward(handler, body)

    def _forward(self, handler, body):
        upstream = http.client.HTTPConnection(LOOPBACK, self.upstream, timeout=self.patience)
        try:
            headers = {"content-type": handler.headers["content-type"]}
            upstream.request(handler.command, handler.path, body, headers)
            answer = upstream.getresponse()
            handler.answer(answer.status, json.loads(answer.read()))
        except OSError:
            handler.reset()
        finally:
            upstream.close()
