"""Who is measured: ours in two processes, and the twins in one. Each runs with a ServiceAccount's rights."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import urllib3

from functions.runtime.names import Metric
from tests.bench.peers import programs
from tests.bench.pods import start_bridge, start_function
from tests.bench.rig import TWIN, Rig

WORKERS = 10


@dataclass(frozen=True)
class Running:
    """The root process of each role; `events` tells how many CloudEvents were acknowledged so far."""

    roles: Mapping[str, int]
    events: Callable[[], float] | None = None


@dataclass(frozen=True)
class Contender:
    """One operator. `resident` are the roles that stay in memory when nothing happens."""

    name: str
    accounts: tuple[str, ...]
    resident: tuple[str, ...]
    launch: Callable[[Rig], Running] = field(repr=False)


def ours(rig: Rig) -> Running:
    """Bridge and function, each as in a pod; the function would scale to zero at rest, the bridge would not."""
    function, sink = start_function(rig)
    bridge, health = start_bridge(rig, sink)
    return Running({bridge.name: bridge.pid, function.name: function.pid}, lambda: _acknowledged(health))


def go_twin(rig: Rig) -> Running:
    """controller-runtime with ten workers."""
    command: list[str | Path] = [programs.go_twin(), f"-kubeconfig={rig.kubeconfig(TWIN)}", f"-workers={WORKERS}"]
    return Running({"operator": rig.start("go", command, {}).pid})


def kopf_twin(rig: Rig) -> Running:
    """kopf, alone, on all namespaces."""
    command: list[str | Path] = [
        programs.kopf(),
        "-m",
        "kopf",
        "run",
        "--all-namespaces",
        "--standalone",
        programs.KOPF_TWIN,
    ]
    return Running({"operator": rig.start("kopf", command, {"KUBECONFIG": str(rig.kubeconfig(TWIN))}).pid})


OURS = Contender("ours", ("webapp-bridge", "webapp-reconciler"), ("bridge",), ours)
GO = Contender("controller-runtime", (TWIN,), ("operator",), go_twin)
KOPF = Contender("kopf", (TWIN,), ("operator",), kopf_twin)


def _acknowledged(health: str) -> float:
    page = urllib3.request("GET", f"{health}metrics", retries=False, timeout=5.0).data.decode()
    found = re.search(rf'^{Metric.SENT}_total{{answer="2xx"}} (\S+)', page, re.MULTILINE)
    return float(found.group(1)) if found else 0.0
