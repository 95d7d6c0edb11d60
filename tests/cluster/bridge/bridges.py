"""Bridges as processes, each with the rights of its ServiceAccount, watching one test's namespace."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import urllib3

from functions.dev.processes import LOOPBACK, Process, ProcessGroup, free_port
from tests.cluster.admin import until


class RunningBridge:
    """One process and its health server."""

    def __init__(self, process: Process, url: str) -> None:
        self.process = process
        self._url = url
        self._http = urllib3.PoolManager(retries=False, timeout=5.0)

    def ask(self, path: str, method: str = "GET") -> tuple[int, str]:
        """Status and text of its health server; 0 where it does not answer."""
        try:
            answer = self._http.request(method, f"{self._url}{path}", headers={"connection": "close"})
        except urllib3.exceptions.HTTPError:
            return 0, ""
        return answer.status, answer.data.decode()

    def wait_ready(self) -> None:
        self.process.wait_until(lambda: self.ask("readyz")[0] == 200)

    def figure(self, name: str, **labels: str) -> float:
        """The sum of the metric's samples that have these labels."""
        found = re.findall(rf"^{name}(?:{{(.*)}})? (\S+)$", self.ask("metrics")[1], re.MULTILINE)
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        return sum(float(value) for text, value in found if all(each in text for each in wanted))

    def leads(self) -> bool:
        return self.figure("webapp_bridge_leader") == 1

    def signal(self, number: signal.Signals) -> None:
        self.process.signal(number)

    def stop(self) -> None:
        """SIGTERM; it must end by itself, with 0."""
        self.process.stop(grace=30)
        self._http.clear()
        assert self.process.returncode == 0, self.process.tail()


class Bridges:
    """Starts them; `settings` go on top of what all of a test have in common."""

    def __init__(self, kubeconfig: Path, processes: ProcessGroup, common: Mapping[str, str]) -> None:
        self._kubeconfig, self._processes, self._common = kubeconfig, processes, common
        self._count = 0

    def start(self, *, ready: bool = True, **settings: str) -> RunningBridge:
        self._count += 1
        name, port = f"bridge-{self._count}", free_port()
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("K_", "KUBE", "OTEL_"))}
        env = {
            **inherited,
            "KUBECONFIG": str(self._kubeconfig),
            "BRIDGE_HEALTH_HOST": LOOPBACK,
            "BRIDGE_HEALTH_PORT": str(port),
            "BRIDGE_PARKING_FILE": str(self._processes.folder / f"{name}.jsonl"),
            "POD_NAME": name,
            **self._common,
            **settings,
        }
        process = self._processes.start(name, [sys.executable, "-m", "event_bridge"], env)
        found = RunningBridge(process, f"http://{LOOPBACK}:{port}/")
        if ready:
            found.wait_ready()
            until(lambda: found.leads() or "webapp_bridge_leader 0.0" in found.ask("metrics")[1])
        return found

    def parked(self, number: int = 1) -> list[str]:
        """The lines of a bridge's parking file."""
        file = self._processes.folder / f"bridge-{number}.jsonl"
        return file.read_text().splitlines() if file.exists() else []
