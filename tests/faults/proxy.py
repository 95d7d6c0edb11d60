"""An HTTP proxy before the API server that can be told to misbehave: slow, broken, refusing, or losing an answer."""

from __future__ import annotations

import base64
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import urllib3
import yaml

from functions.dev import kubeconfig
from functions.dev.processes import LOOPBACK

_HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length", "host"}
_RST = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s: close() resets the connection


@dataclass(frozen=True)
class Request:
    """One request that came to the proxy; `number` counts from 1 since `Proxy.reset`."""

    method: str
    path: str
    number: int

    @property
    def writes(self) -> bool:
        """Whether it could change something."""
        return self.method != "GET"


@dataclass(frozen=True)
class Fault:
    """What goes wrong: a `reset` before the request is passed on, its answer `lost`, a `status` instead, a wait."""

    reset: bool = False
    lost: bool = False
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"{}"
    until: threading.Event | None = None


RESET = Fault(reset=True)
LOST = Fault(lost=True)


class Proxy:
    """Passes requests on to `server`, but where `fault` says otherwise."""

    def __init__(self, server: str, authority: str) -> None:
        self._server = server
        self._http = urllib3.PoolManager(ca_certs=authority, retries=False, maxsize=32)
        self._lock = threading.Lock()
        self.seen: list[Request] = []
        self.fault: Callable[[Request], Fault | None] = lambda _: None

    def reset(self, fault: Callable[[Request], Fault | None] = lambda _: None) -> None:
        """Forget what was seen; from now on go wrong as `fault` says."""
        with self._lock:
            self.seen, self.fault = [], fault

    def note(self, method: str, path: str) -> Request:
        """Count a request."""
        with self._lock:
            found = Request(method, path, len(self.seen) + 1)
            self.seen.append(found)
            return found

    def forward(self, method: str, path: str, headers: dict[str, str], body: bytes) -> urllib3.BaseHTTPResponse:
        """The API server's answer."""
        return self._http.request(method, self._server + path, headers=headers, body=body)


@contextmanager
def proxied(path: Path, folder: Path) -> Iterator[tuple[Proxy, Path]]:
    """A proxy before the server of a kubeconfig, and a kubeconfig for who shall go through it."""
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    cluster, user = content["clusters"][0]["cluster"], content["users"][0]
    authority = folder / "proxy-ca.crt"
    authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    proxy = Proxy(cluster["server"], str(authority))
    server = _Server((LOOPBACK, 0), _handler(proxy))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        url = f"http://{LOOPBACK}:{server.server_port}"
        yield proxy, kubeconfig.write(folder / "proxy.kubeconfig", {"server": url}, user["user"], user["name"])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may hang up."""


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            fault = proxy.fault(proxy.note(self.command, self.path)) or Fault()
            if fault.until is not None:
                fault.until.wait(30)
            if fault.reset:
                return self._break()
            if fault.status:
                return self._answer(fault.status, fault.headers, fault.body)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP}
            found = proxy.forward(self.command, self.path, headers, body)
            if fault.lost:
                return self._break()
            return self._answer(found.status, dict(found.headers), found.data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815 - names of http.server

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in _HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _break(self) -> None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST)
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Be quiet."""

    return Handler
