"""gunicorn's threaded worker, made fit for kube-apiserver as its client.

The API server keeps idle connections for 90 seconds, opens more than it needs, and never repeats a POST whose
connection broke (Go `net/http`, Transport). Hence a drain that goes on answering, and no thread that waits for a
connection that has nothing to say.
"""

from __future__ import annotations

import logging
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from types import FrameType
from typing import Any, ClassVar

from gunicorn.glogging import Logger
from gunicorn.http import Request
from gunicorn.http.wsgi import Response
from gunicorn.workers.gthread import TConn, ThreadWorker

from functions.runtime.tls import PATIENCE_SECONDS

DRAINING = "webapp.draining"
"""In the WSGI environment: a `threading.Event` that is set once the server drains, for answers without an end."""

_LINGER_SECONDS = 1.0
_LINGER_READS = 16
_access = logging.getLogger("functions.runtime.access")


class DrainingWorker(ThreadWorker):
    """On SIGTERM: not ready any more, `Connection: close` on every answer, and a stop only after `drain_seconds`."""

    drain_seconds: ClassVar[float] = 0.0

    @classmethod
    def after(cls, seconds: float) -> type[DrainingWorker]:
        """The worker that drains for `seconds`; gunicorn makes its workers from a class alone."""
        return type(cls.__name__, (cls,), {"drain_seconds": seconds})

    def init_process(self) -> None:
        """Runs in the forked process."""
        self.draining = threading.Event()
        super().init_process()

    def load_wsgi(self) -> None:
        """Called by gunicorn, in the worker."""
        super().load_wsgi()
        app = self.wsgi

        def aware(environ: Any, start_response: Any) -> Any:
            environ[DRAINING] = self.draining
            return app(environ, start_response)

        self.wsgi = aware

    def why_not_ready(self) -> str:
        """For readiness: a text while the worker drains."""
        return "draining" if self.draining.is_set() else ""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM; a second one changes nothing."""
        if self.draining.is_set():
            return
        self.draining.set()
        self.max_keepalived = 0  # each answer closes its connection, so that clients move to another replica
        stop: Callable[[int, FrameType | None], None] = super().handle_exit
        timer = threading.Timer(self.drain_seconds, stop, (sig, frame))
        timer.daemon = True
        timer.start()

    def handle(self, conn: TConn) -> bool:
        """One request, in a thread of the pool; True sends the connection back to the poller, False closes it."""
        kept = super().handle(conn) if conn.initialized else self._begin(conn)
        if not kept:
            _part(conn.sock)
        return kept

    def _begin(self, conn: TConn) -> bool:
        """The handshake, and the first request if it is there already: else no thread waits for it."""
        try:
            if not conn.wait_for_data(PATIENCE_SECONDS):
                return False
            conn.init()
        except OSError as error:
            _access.debug("no TLS connection", exc_info=error)
            return False
        conn.data_ready = False
        asked = (isinstance(conn.sock, ssl.SSLSocket) and conn.sock.pending() > 0) or conn.wait_for_data(0)
        return super().handle(conn) if asked else True


def _part(sock: socket.socket) -> None:
    """Let the peer read the last answer and close first (RFC 9112 section 9.6); gunicorn's poller would wait for it."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(_LINGER_SECONDS)
        for _ in range(_LINGER_READS):
            if not sock.recv(4096):
                break
        sock.shutdown(socket.SHUT_RDWR)


class AccessLog(Logger):
    """One line for each request: method, path, status, milliseconds. Never a header, a query or a body."""

    def setup(self, cfg: Any) -> None:
        """Hand gunicorn's own messages to the process's log, in its format."""
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True

    @property
    def access_log_enabled(self) -> bool:
        """Whether a line would be written at all."""
        return _access.isEnabledFor(logging.INFO)

    def access(self, resp: Response, req: Request, environ: Any, request_time: timedelta) -> None:  # noqa: ARG002
        """Write the line."""
        if not self.access_log_enabled:
            return
        fields = {
            "method": environ["REQUEST_METHOD"],
            "path": environ["PATH_INFO"],
            "status": resp.status_code,
            "duration_ms": round(request_time.total_seconds() * 1000, 1),
        }
        _access.info("request", extra={"fields": fields})
