"""gunicorn as every function runs it: one worker, threads, a clean drain on SIGTERM."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from functions.runtime.listening import Address

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where the worker's heartbeat file costs no disk

DRAIN_SECONDS = 1
"""How long clients with an open connection are still answered; they go elsewhere then."""


@dataclass(frozen=True)
class Served:
    """An app, and what to do when its worker ends."""

    app: Flask
    close: Callable[[], None]


def serve(make: Callable[[], Served], at: Address, *, threads: int, graceful_seconds: int = 25) -> None:
    """Serve the app until SIGTERM; requests that run then have `graceful_seconds` to end.

    Those that come then are told to come again (503).

    `make` is called in the worker, so that connections, threads and exporters belong to it.
    """
    from functions.runtime.drain import RefusingWorker  # noqa: PLC0415 - gunicorn's worker, which only a server needs

    gc.freeze()  # the worker shares what is loaded by now, as long as no collection touches it
    settings = options(at, threads, graceful_seconds + DRAIN_SECONDS)
    Application(make, {**settings, "worker_class": RefusingWorker.after(DRAIN_SECONDS)}).run()


def options(at: Address, threads: int, graceful_seconds: int) -> dict[str, Any]:
    """Gunicorn's settings, by its own names."""
    return {
        "bind": str(at),
        "worker_class": "gthread",
        "workers": 1,
        "threads": threads,
        "graceful_timeout": graceful_seconds,
        "timeout": graceful_seconds + 5,
        "keepalive": 75,
        "control_socket_disable": True,
        "loglevel": "warning",
        "worker_tmp_dir": str(_SHARED_MEMORY) if _SHARED_MEMORY.is_dir() else None,
    }


class Application(BaseApplication):
    """What gunicorn runs."""

    def __init__(self, make: Callable[[], Served], settings: dict[str, Any]) -> None:
        self._make = make
        self._settings = settings
        super().__init__()

    def load_config(self) -> None:
        """Called by gunicorn."""
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """Called by gunicorn, in the worker."""
        gc.enable()  # a process that forks goes without until then (documentation of `gc.freeze`)
        served = self._make()
        self.cfg.set("worker_exit", lambda _server, _worker: served.close())
        return served.app
