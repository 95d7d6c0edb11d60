"""What a function says between SIGTERM and its end: 503 with Retry-After, so that the sender goes to another pod.

Behind Knative nobody hears it: queue-proxy lets the container end only when nothing has come for 30 s.
"""

from __future__ import annotations

from typing import Any

from functions.runtime.web import problem
from functions.runtime.worker import DrainingWorker

LIVENESS = "/health/liveness"


class RefusingWorker(DrainingWorker):
    """Finishes what it has begun, and takes nothing more."""

    def load_wsgi(self) -> None:
        """Called by gunicorn, in the worker."""
        super().load_wsgi()
        app = self.wsgi
        refusal = problem(503, "draining", "this process ends; send it again")
        refusal.headers["retry-after"] = "1"

        def gate(environ: Any, start_response: Any) -> Any:
            if self.draining.is_set() and environ.get("PATH_INFO") != LIVENESS:
                return refusal(environ, start_response)
            return app(environ, start_response)

        self.wsgi = gate
