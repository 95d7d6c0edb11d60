"""A recorder in this process, and recorders as processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3
from flask.testing import FlaskClient
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.trace import NoOpTracer

from functions.dev.processes import LOOPBACK, Process, ProcessGroup, free_port
from functions.history.recorder.app import Recorder, create_app
from functions.history.recorder.batches import Batches
from functions.history.recorder.measures import Measures
from functions.history.recorder.transaction import Transaction
from tests.history.runs import GROUP


class Bench:
    """A recorder whose database is `append`; `limit` events may wait, each for `seconds`."""

    def __init__(
        self, append: Any, *, limit: int = 20, seconds: float = 20, tracer: Any = None, meters: Any = None
    ) -> None:
        tracer, measures = tracer or NoOpTracer(), Measures(meters or NoOpMeterProvider())
        self.batches = Batches(Transaction(append, "sqlite", tracer, measures).write, limit=limit, seconds=seconds)
        self.app = create_app(Recorder(GROUP, self.batches, tracer, measures))

    def post(self, request: tuple[dict[str, str], bytes]) -> Any:
        """Send one event; from any thread."""
        headers, body = request
        client: FlaskClient = self.app.test_client()
        return client.post("/", headers=headers, data=body)


@pytest.fixture
def bench(store: Any) -> Iterator[Bench]:
    """A recorder on a real database."""
    made = Bench(store.append)
    yield made
    made.batches.close()


class RecorderProcess:
    """`python -m functions.history.recorder`; started again after a kill it listens on the same port."""

    def __init__(self, group: ProcessGroup, url: str, **environ: str) -> None:
        self._group = group
        self.port = free_port()
        self._environ = {**os.environ, "PORT": str(self.port), "HISTORY_DATABASE_URL": url, **environ}
        self._pool = urllib3.PoolManager(retries=False, timeout=30)
        self.process: Process
        self.start()

    def start(self) -> None:
        """Start it and wait until it is ready."""
        command = [sys.executable, "-m", "functions.history.recorder"]
        self.process = self._group.start(f"recorder-{self.port}", command, self._environ)
        self.process.wait_until(self._is_ready)

    def get(self, path: str) -> int:
        """The status of a GET."""
        return self._pool.request("GET", f"http://{LOOPBACK}:{self.port}{path}").status

    def post(self, request: tuple[dict[str, str], bytes]) -> Any:
        """Send one event."""
        headers, body = request
        return self._pool.request("POST", f"http://{LOOPBACK}:{self.port}/", headers=headers, body=body)

    def _is_ready(self) -> bool:
        try:
            return self.get("/health/readiness") == 200
        except urllib3.exceptions.HTTPError:
            return False


@pytest.fixture
def group() -> Iterator[ProcessGroup]:
    """Where processes run; they need not drain at the end."""
    with ProcessGroup(grace=0.0) as processes:
        yield processes
