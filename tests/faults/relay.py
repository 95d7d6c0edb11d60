"""A relay between bridge and function that makes the worst of at-least-once: everything twice, old events at random."""

from __future__ import annotations

import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import urllib3

from functions.dev.processes import LOOPBACK

_HOP_BY_HOP = {"connection", "content-length", "host", "transfer-encoding"}
Sent = tuple[dict[str, str], bytes]


class Relay:
    """Passes each event to the function and gives its answer back; meanwhile sends events of the past again.

    `target` may change while it runs; `again` counts the events that were sent once more.
    """

    def __init__(self, target: str, seed: int) -> None:
        self.target = target
        self.again = 0
        self._chance = random.Random(seed)
        self._past: list[Sent] = []
        self._lock = threading.Lock()
        self._http = urllib3.PoolManager(maxsize=32, retries=False, timeout=urllib3.Timeout(connect=2.0, read=30.0))

    def __enter__(self) -> Self:
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                sent = {name.lower(): value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP}
                status, headers = relay.handle((sent, body))
                self.send_response_only(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        self.url = f"http://{LOOPBACK}:{self._server.server_port}/"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._http.clear()

    def handle(self, event: Sent) -> tuple[int, dict[str, str]]:
        """An old event, the new one, and the new one again; the answer is that of the new one's first delivery."""
        with self._lock:
            self._past.append(event)
            old = self._chance.choice(self._past)
        self._repeat(old)
        status, headers = self._send(event)
        self._repeat(event)
        return status, headers

    def _repeat(self, event: Sent) -> None:
        self._send(event)
        with self._lock:
            self.again += 1

    def _send(self, event: Sent) -> tuple[int, dict[str, str]]:
        headers, body = event
        try:
            answer = self._http.request("POST", self.target, headers=headers, body=body)
        except urllib3.exceptions.HTTPError:
            return 503, {}
        return answer.status, {name: value for name, value in answer.headers.items() if name.startswith("webapp-")}
