"""The operator's parts as processes of this machine, each with the rights of its own ServiceAccount."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import urllib3

from functions.dev.certificates import KeyPair
from functions.dev.cluster import Cluster
from functions.dev.processes import LOOPBACK, Process, ProcessGroup, free_port
from functions.webapp.resources import DEFAULT_GROUP, SYSTEM_NAMESPACE

START_SECONDS = 30.0
RECORDER_THREADS = "8"
"""One bridge sends it one event at a time."""


class Operator:
    """Starts parts into a ProcessGroup, for one API group of a cluster in which `install` was called."""

    def __init__(self, cluster: Cluster, processes: ProcessGroup, group: str = DEFAULT_GROUP) -> None:
        self._cluster = cluster
        self._processes = processes
        self._group = group

    def start_function(self, settings: Mapping[str, str] | None = None, *, port: int = 0) -> str:
        """Start the reconcile function under gunicorn and give its URL once it is ready."""
        port = port or free_port()
        url = f"http://{LOOPBACK}:{port}/"
        env = self._env("webapp-reconciler", {"PORT": str(port), **(settings or {})})
        process = self._start("function", "functions.reconcile", env)
        await_ready(process, f"{url}health/readiness")
        return url

    def start_bridge(self, sink: str, settings: Mapping[str, str] | None = None) -> str:
        """Start the event bridge towards a sink and give the URL of its health server once it is ready."""
        port = free_port()
        parking = self._processes.folder / f"{self.name('parked')}.jsonl"
        ours = {
            "K_SINK": sink,
            "BRIDGE_HEALTH_HOST": LOOPBACK,
            "BRIDGE_HEALTH_PORT": str(port),
            "BRIDGE_LEASE_NAME": f"webapp-bridge.{self._group}",
            "BRIDGE_PARKING_FILE": str(parking),
        }
        env = self._env("webapp-bridge", {**ours, **(settings or {})})
        process = self._start("bridge", "event_bridge", env)
        url = f"http://{LOOPBACK}:{port}/"
        await_ready(process, f"{url}readyz")
        return url

    def start_recorder(self, database: str, settings: Mapping[str, str] | None = None) -> str:
        """Start the recorder of finished reconciles and give its URL at once: a bridge waits for it by itself."""
        port = free_port()
        ours = {"PORT": str(port), "HISTORY_DATABASE_URL": database, "HISTORY_THREADS": RECORDER_THREADS}
        self._start("recorder", "functions.history.recorder", self._env("", {**ours, **(settings or {})}))
        return f"http://{LOOPBACK}:{port}/"

    def start_history_apiserver(
        self, database: str, pair: KeyPair, settings: Mapping[str, str] | None = None
    ) -> tuple[Process, int, str]:
        """Start the API server of the history: its process, its port, and the URL that tells when it is ready."""
        port, health = free_port(), free_port()
        ours = {
            "PORT": str(port),
            "HEALTH_PORT": str(health),
            "HISTORY_DATABASE_URL": database,
            "TLS_CERT_FILE": str(pair.certificate),
            "TLS_KEY_FILE": str(pair.key),
            "DRAIN_SECONDS": "0",
        }
        env = self._env("webapp-history", {**ours, **(settings or {})})
        return self._start("history", "functions.history.apiserver", env), port, f"http://{LOOPBACK}:{health}/readyz"

    def name(self, part: str) -> str:
        """How the processes of this group call a part: `function`, or `function.mycompany.com`."""
        return part if self._group == DEFAULT_GROUP else f"{part}.{self._group}"

    def _start(self, part: str, module: str, env: Mapping[str, str]) -> Process:
        return self._processes.start(self.name(part), [sys.executable, "-m", module], env)

    def _env(self, account: str, settings: Mapping[str, str]) -> dict[str, str]:
        """The environment of a part with a ServiceAccount, or without ("")."""
        kubeconfig = str(self._cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, account)) if account else ""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("K_", "KUBERNETES_"))}
        ours = {
            "KUBECONFIG": kubeconfig,
            "LISTEN_HOST": LOOPBACK,
            "WEBAPP_API_GROUP": self._group,
            "WEBAPP_LOG_FORMAT": "console",
        }
        return {**inherited, **ours, **settings}


def await_ready(process: Process, url: str) -> None:
    """Return once the URL answers 200. Raises ProcessError when the process ends first, or after half a minute."""
    http = urllib3.PoolManager(retries=False, timeout=2.0)

    def ready() -> bool:
        try:
            return http.request("GET", url).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    try:
        process.wait_until(ready, START_SECONDS)
    finally:
        http.clear()
