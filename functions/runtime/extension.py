"""How a server that kube-apiserver calls is served: webhooks, and APIs behind the aggregator.

TLS whose certificate may be replaced at any time, connections kept longer than the API server keeps them, a drain that
goes on answering, health and metrics on a plain port.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

from functions.runtime import server
from functions.runtime.health import Checks, HealthServer
from functions.runtime.server import Application, Served
from functions.runtime.tls import Certificate, Profile
from functions.runtime.worker import AccessLog, DrainingWorker

_KEEPALIVE_SECONDS = 120
"""Longer than kube-apiserver keeps an idle connection (90 s): it must be the one that closes."""


def serve(
    make: Callable[[CollectorRegistry], Served],
    profile: Profile,
    *,
    ready: Callable[[], str] = lambda: "",
    graceful_seconds: int = 10,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Serve the app until SIGTERM.

    From then on `/readyz` says no while the app answers for `profile.drain_seconds` more, and requests that run even
    then have `graceful_seconds` to end. `make` is called in the worker with the registry that `/metrics` shows;
    `ready` says why the server is not ready, or ""; `more` holds settings of gunicorn's, by its own names.
    """
    registry = CollectorRegistry()
    certificate = Certificate(profile)
    certificate.context()  # a good pair to fall back on, before anybody may be replacing it

    def health(worker: DrainingWorker) -> None:
        def complaints() -> list[str]:
            return [why for why in (worker.why_not_ready(), ready()) if why]

        HealthServer(Checks(complaints, lambda: generate_latest(registry)), profile.health).start()

    settings: dict[str, Any] = {
        **server.options(profile.at, profile.threads, graceful_seconds),
        "worker_class": DrainingWorker.after(profile.drain_seconds),
        "logger_class": AccessLog,
        "graceful_timeout": round(profile.drain_seconds) + graceful_seconds,
        "keepalive": _KEEPALIVE_SECONDS,
        "certfile": str(profile.certificate),
        "keyfile": str(profile.key),
        "ssl_context": lambda _config, _default: certificate.context(),
        "post_worker_init": health,
        **more,
    }
    Application(lambda: make(registry), settings).run()
