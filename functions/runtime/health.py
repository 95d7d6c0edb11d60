"""A process's own port, plain HTTP: is it alive, is it ready, its metrics, and orders to it from its own host."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from functions.runtime.listening import Address, is_loopback
from functions.runtime.settings import SettingsError

_TIMEOUT_SECONDS: Final = 10.0
_PAGES: Final = ("/livez", "/readyz", "/metrics")

Order = Callable[[Mapping[str, str]], Mapping[str, Any]]
"""Does something for a query, and tells what as JSON."""


@dataclass(frozen=True, slots=True)
class Checks:
    """What the server asks: complaints (none means yes), and the page of metrics as Prometheus reads it.

    `orders` are carried out for a POST to their path, from callers on the same host only.
    """

    ready: Callable[[], list[str]]
    metrics: Callable[[], bytes]
    alive: Callable[[], list[str]] = list
    orders: Mapping[str, Order] = field(default_factory=dict)


class HealthServer:
    """Serves `/livez`, `/readyz`, `/metrics` and the orders, off the threads that do the work.

    Raises SettingsError, which names the variable of the port, where the address is not to be had.
    """

    def __init__(self, checks: Checks, at: Address) -> None:
        handler = type("Handler", (_Handler,), {"checks": checks})
        server = type("Server", (ThreadingHTTPServer,), {"address_family": at.family, "daemon_threads": True})
        try:
            self._server: ThreadingHTTPServer = server((at.host, at.port), handler)
        except OSError as error:
            raise SettingsError(f"{at.variable}={at.port}: {at}: {error}; choose a port that is free") from None
        self.port: int = self._server.server_address[1]

    def start(self) -> None:
        """Serve in a thread of its own, to the end of the process."""
        threading.Thread(target=self._server.serve_forever, args=(None,), name="health", daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    checks: Checks
    timeout = _TIMEOUT_SECONDS
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        match urlsplit(self.path).path:
            case "/livez":
                self._verdict(self.checks.alive())
            case "/readyz":
                self._verdict(self.checks.ready())
            case "/metrics":
                self._answer(200, self.checks.metrics(), CONTENT_TYPE_PLAIN_0_0_4)
            case _:
                self._not_found(_PAGES)

    def do_POST(self) -> None:
        where = urlsplit(self.path)
        order = self.checks.orders.get(where.path)
        if order is None:
            self._not_found(self.checks.orders)
        elif not is_loopback(self.client_address[0]):
            self._answer(403, b"only from the same host: kubectl port-forward or kubectl exec reach it\n")
        else:
            told = order(dict(parse_qsl(where.query)))
            self._answer(200, json.dumps(told).encode() + b"\n", "application/json")

    def _not_found(self, there: Iterable[str]) -> None:
        self._answer(404, f"not found; there is {', '.join(there) or 'nothing of the kind'}\n".encode())

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
