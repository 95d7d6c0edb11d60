"""The bridge's own HTTP server: is it alive, is it ready, its metrics, and one order: send what is parked again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qs, urlsplit

from functions.runtime.settings import SettingsError

TIMEOUT_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Checks:
    """What the server asks: complaints (none means yes), the metrics page, and how many events are sent again."""

    alive: Callable[[], list[str]]
    ready: Callable[[], list[str]]
    metrics: Callable[[], bytes]
    resend: Callable[[str], int]


class HealthServer:
    """Serves `/livez`, `/readyz`, `/metrics` and, to callers on the same host only, `POST /resend[?webapp=NS/NAME]`."""

    def __init__(self, host: str, port: int, checks: Checks) -> None:
        handler = type("Handler", (_Handler,), {"checks": checks})
        try:
            self._server = ThreadingHTTPServer((host, port), handler)
        except OSError as error:
            raise SettingsError(f"BRIDGE_HEALTH_PORT={port}: {error}; choose a port that is free") from None
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    def start(self) -> None:
        """Serve in a thread of its own, to the end of the process."""
        threading.Thread(target=self._server.serve_forever, args=(None,), name="health", daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    checks: Checks
    timeout = TIMEOUT_SECONDS
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        match urlsplit(self.path).path:
            case "/livez":
                self._verdict(self.checks.alive())
            case "/readyz":
                self._verdict(self.checks.ready())
            case "/metrics":
                self._answer(200, self.checks.metrics(), "text/plain; version=0.0.4; charset=utf-8")
            case _:
                self._answer(404, b"not found; there are /livez, /readyz and /metrics\n")

    def do_POST(self) -> None:
        where = urlsplit(self.path)
        if where.path != "/resend":
            self._answer(404, b"not found; there is /resend\n")
        elif not ip_address(self.client_address[0]).is_loopback:
            self._answer(403, b"only from the bridge's own host: kubectl port-forward or kubectl exec reach it\n")
        else:
            count = self.checks.resend(parse_qs(where.query).get("webapp", [""])[0])
            self._answer(200, json.dumps({"resent": count}).encode() + b"\n", "application/json")

    def _verdict(self, complaints: list[str]) -> None:
        self._answer(503 if complaints else 200, "".join(f"{each}\n" for each in complaints or ["ok"]).encode())

    def _answer(self, status: int, body: bytes, content_type: str = "text/plain; charset=utf-8") -> None:
        self.close_connection = True  # no thread is kept for a scraper between two calls
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Probes are not worth a line."""
