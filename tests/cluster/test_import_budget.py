"""What the processes of a cluster import, asked of the real processes: the heavy packages stay outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench import usage
from tests.bench.observer import Observer
from tests.bench.pods import start_bridge, start_function
from tests.bench.rig import Rig, name_of

IMPORTED = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s*(\S+)", re.MULTILINE)
HEAVY = {"asyncio", "kubernetes", "multiprocessing", "opentelemetry.sdk", "requests", "urllib3", "sqlalchemy", "yaml"}


class Processes:
    """Bridge and function that report each import, after one WebApp was reconciled by them."""

    def __init__(self, rig: Rig) -> None:
        self.function, sink = start_function(rig, {"PYTHONPROFILEIMPORTTIME": "1"})
        self.bridge, _ = start_bridge(rig, sink, {"PYTHONPROFILEIMPORTTIME": "1"})

    def modules(self, log: Path) -> set[str]:
        """The modules that a process has imported so far."""
        return set(IMPORTED.findall(log.read_text()))


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Rig() as rig, Observer(rig.cluster.kubeconfig) as observer:
        found = Processes(rig)
        observer.await_states({(name_of(1), rig.create(1)["metadata"]["generation"])}, 60.0)
        yield found


def test_the_bridge_in_a_cluster_imports_nothing_heavy(processes: Processes) -> None:
    imported = processes.modules(processes.bridge.log)
    assert {"event_bridge", "httptools", "prometheus_client"} <= imported
    assert imported & {*HEAVY, "pydantic", "flask", "gunicorn"} == set()


def test_the_function_in_a_cluster_imports_nothing_heavy(processes: Processes) -> None:
    imported = processes.modules(processes.function.log)
    assert {"functions", "flask", "pydantic"} <= imported
    assert imported & {*HEAVY, "event_bridge"} == set()


def test_the_bridge_holds_less_memory_than_the_twin_it_replaces_does_empty(processes: Processes) -> None:
    """A controller-runtime operator rests at 33 MiB without a single object (docs/comparison.md)."""
    assert usage.memory(usage.family(processes.bridge.pid)).rss < 36.0
