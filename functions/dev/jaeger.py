"""Jaeger for traces on this machine: one of our own in memory, or one that runs already."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

import urllib3

from functions.dev.processes import LOOPBACK, ProcessGroup, free_port, is_free
from functions.dev.sender import checked
from functions.dev.toolchain import Toolchain

PORT = 16686
"""Where Jaeger's query service listens by custom."""

START_SECONDS = 15.0
MAX_TRACES = 50_000


class Tracing(Protocol):
    """Where spans go, and where they are asked for: `otlp` and `query` are URLs."""

    otlp: str
    query: str

    @property
    def settings(self) -> dict[str, str]:
        """The environment by which a process exports its spans there."""
        ...


class RunningJaeger:
    """A Jaeger that runs already, by the URL of its query service; OTLP is taken on its host's port 4318."""

    def __init__(self, query: str, otlp: str = "") -> None:
        self.query = checked(query, "JAEGER_URL").rstrip("/")
        self.otlp = otlp or f"http://{urlsplit(self.query).hostname}:4318"

    @property
    def settings(self) -> dict[str, str]:
        """The environment by which a process exports its spans there. Jaeger takes no metrics."""
        return {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{self.otlp}/v1/traces"}


class Jaeger(RunningJaeger):
    """A context in which a Jaeger of our own runs on loopback ports; what it was sent goes with it.

    Built from its Go module it has no web pages, only its API: `webapp trace` shows what it holds. `port` is that of
    the API; 0 is any.
    """

    def __init__(self, port: int = 0) -> None:
        self._program = Toolchain.from_environment().find("jaeger")
        self._port = port

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            processes = stack.enter_context(ProcessGroup(grace=0.1))
            query, otlp = f"{LOOPBACK}:{self._port or free_port()}", f"{LOOPBACK}:{free_port()}"
            super().__init__(f"http://{query}", f"http://{otlp}")
            config = processes.folder / "jaeger.json"
            config.write_text(json.dumps(_config(query, otlp)), encoding="utf-8")
            self.process = processes.start("jaeger", [self._program, "--config", f"file:{config}"])
            http = urllib3.PoolManager(retries=False, timeout=1.0)
            self.process.wait_until(lambda: _serves(http, self.query), START_SECONDS)
            http.clear()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def from_environment(environ: Mapping[str, str] = os.environ) -> AbstractContextManager[Tracing]:
    """The Jaeger that JAEGER_URL names (its query service, such as http://jaeger:16686), else one of our own.

    Ours listens on Jaeger's own port unless that is taken. Spans for a Jaeger that runs elsewhere go to
    OTEL_EXPORTER_OTLP_ENDPOINT if that is set. Raises BadUrl.
    """
    if url := environ.get("JAEGER_URL"):
        return nullcontext(RunningJaeger(url, environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").rstrip("/")))
    return Jaeger(PORT if is_free(PORT) else 0)


def _serves(http: urllib3.PoolManager, query: str) -> bool:
    try:
        return http.request("GET", f"{query}/api/v3/services").status == 200
    except urllib3.exceptions.HTTPError:
        return False


def _config(query: str, otlp: str) -> dict[str, Any]:
    """Jaeger's all-in-one, cut down to what is used here: OTLP over HTTP in, memory, the query API out."""
    return {
        "service": {
            "extensions": ["jaeger_storage", "jaeger_query"],
            "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["jaeger_storage_exporter"]}},
            "telemetry": {"metrics": {"level": "none"}, "logs": {"level": "warn"}},
        },
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": otlp}}}},
        "extensions": {
            "jaeger_storage": {"backends": {"memory": {"memory": {"max_traces": MAX_TRACES}}}},
            "jaeger_query": {
                "storage": {"traces": "memory"},
                "http": {"endpoint": query},
                "grpc": {"endpoint": f"{LOOPBACK}:0"},
            },
        },
        "exporters": {"jaeger_storage_exporter": {"trace_storage": "memory"}},
    }
