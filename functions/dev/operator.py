"""The operator's two parts as processes of this machine, each with the rights of its own ServiceAccount."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import urllib3

from functions.dev.cluster import Cluster
from functions.dev.processes import LOOPBACK, Process, ProcessGroup, free_port
from functions.webapp.resources import DEFAULT_GROUP, SYSTEM_NAMESPACE

START_SECONDS = 30.0


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
        process = self._processes.start(self.name("function"), [sys.executable, "-m", "functions.reconcile"], env)
        _await(process, f"{url}health/readiness")
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
        process = self._processes.start(self.name("bridge"), [sys.executable, "-m", "event_bridge"], env)
        url = f"http://{LOOPBACK}:{port}/"
        _await(process, f"{url}readyz")
        return url

    def name(self, part: str) -> str:
        """How the processes of this group call a part: `function`, or `function.mycompany.com`."""
        return part if self._group == DEFAULT_GROUP else f"{part}.{self._group}"

    def _env(self, account: str, settings: Mapping[str, str]) -> dict[str, str]:
        kubeconfig: Path = self._cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, account)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("K_", "KUBERNETES_"))}
        ours = {"KUBECONFIG": str(kubeconfig), "WEBAPP_API_GROUP": self._group, "WEBAPP_LOG_FORMAT": "console"}
        return {**inherited, **ours, **settings}


def _await(process: Process, url: str) -> None:
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
