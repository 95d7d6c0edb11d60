"""Liveness, readiness and metrics on a plain port of their own, without certificate and off the server's threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

Check = Callable[[], str]
"""Why the server is not ready, or an empty text."""


class HealthServer:
    """Answers `/livez`, `/readyz` and `/metrics` from a thread of its own until `close`."""

    def __init__(self, port: int, ready: Check, registry: CollectorRegistry) -> None:
        handler = type("Handler", (_Handler,), {"ready": staticmethod(ready), "registry": registry})
        self._server = ThreadingHTTPServer(("", port), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="health", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    ready: Check
    registry: CollectorRegistry
    timeout = 5

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/livez":
                self._answer(200, "ok\n")
            case "/readyz":
                why = self.ready()
                self._answer(503 if why else 200, f"{why or 'ok'}\n")
            case "/metrics":
                self._answer(200, generate_latest(self.registry).decode(), CONTENT_TYPE_LATEST)
            case _:
                self._answer(404, "there is /livez, /readyz and /metrics\n")

    def _answer(self, status: int, text: str, content_type: str = "text/plain; charset=utf-8") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Probes are not worth a line."""
