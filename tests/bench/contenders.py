"""Who is measured: ours in two processes, and the twins in one. Each runs with a ServiceAccount's rights."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import urllib3

from functions.dev.operator import Operator
from functions.runtime.names import Metric
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.bench.peers import programs
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
    operator = Operator(rig.cluster, rig.processes)
    sink = operator.start_function(rig.pod("webapp-reconciler"))
    health = operator.start_bridge(sink, {**rig.pod("webapp-bridge"), "WEBAPP_CLUSTER": ""})
    roles = {name: rig.processes[operator.name(name)].pid for name in ("bridge", "function")}
    return Running(roles, lambda: _acknowledged(health))


def go_twin(rig: Rig) -> Running:
    """controller-runtime with ten workers."""
    command = [programs.go_twin(), f"-kubeconfig={_kubeconfig(rig)}", f"-workers={WORKERS}"]
    return Running({"operator": rig.processes.start("go", command, dict(os.environ)).pid})


def kopf_twin(rig: Rig) -> Running:
    """kopf, alone, on all namespaces."""
    command = [programs.kopf(), "-m", "kopf", "run", "--all-namespaces", "--standalone", programs.KOPF_TWIN]
    env = {**os.environ, "KUBECONFIG": str(_kubeconfig(rig))}
    return Running({"operator": rig.processes.start("kopf", command, env).pid})


OURS = Contender("ours", ("webapp-bridge", "webapp-reconciler"), ("bridge",), ours)
GO = Contender("controller-runtime", (TWIN,), ("operator",), go_twin)
KOPF = Contender("kopf", (TWIN,), ("operator",), kopf_twin)


def _kubeconfig(rig: Rig) -> Path:
    return rig.cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, TWIN)


def _acknowledged(health: str) -> float:
    page = urllib3.request("GET", f"{health}metrics", retries=False, timeout=5.0).data.decode()
    found = re.search(rf'^{Metric.SENT}_total{{answer="2xx"}} (\S+)', page, re.MULTILINE)
    return float(found.group(1)) if found else 0.0
