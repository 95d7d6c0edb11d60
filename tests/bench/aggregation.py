"""`python -m tests.bench.aggregation`: the history behind kube-apiserver with 100,000 rows, beside as many ConfigMaps.

Both are asked through the same kube-apiserver, over one connection and without a cache of the client's.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Annotated, Any, Self

import typer
import urllib3

from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup
from functions.history.record import DEFAULT_GROUP, resource
from functions.history.store import Store
from functions.webapp.resources import Resource
from tests.aggregation.rig import AggregatedApi
from tests.bench.figures import latency
from tests.bench.history import NAMESPACES, Measured, fill, records, stores, timed
from tests.bench.tables import Table

CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps")
RECONCILES = resource(DEFAULT_GROUP)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
WATCHERS, CHANGES, PAUSE = 20, 200, 0.05
_WRITERS = 16


@dataclass(frozen=True)
class Side:
    """One resource with many objects: who is asked, and how one more of it comes to be, which gives its name."""

    http: urllib3.PoolManager
    server: str
    resource: Resource
    add: Callable[[int], str]

    def get(self, path: str, accept: str = "application/json") -> Any:
        """What a GET answers."""
        answer = self.http.request("GET", self.server + path, headers={"accept": accept}, timeout=60)
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.data[:300]!r}")
        return answer.json()


def measure(side: Side) -> list[Measured]:
    """Everything that kubectl and a controller ask."""
    everywhere, one = side.resource.path(""), side.resource.path("team-3")
    token = side.get(f"{everywhere}?limit=500")["metadata"]["continue"]
    found = [
        timed("page of 500, all namespaces", 100, lambda: side.get(f"{everywhere}?limit=500")),
        timed("next page", 100, lambda: side.get(f"{everywhere}?limit=500&continue={token}")),
        timed("page of 500 as a table", 100, lambda: side.get(f"{everywhere}?limit=500", TABLE)),
        timed("page of 500, one namespace", 100, lambda: side.get(f"{one}?limit=500")),
        timed("discovery", 300, lambda: side.get(side.resource.root)),
    ]
    with Watching(side, WATCHERS) as watching:
        watching.change()
        stop = threading.Event()
        adding = threading.Thread(target=_keep_adding, args=(side, stop))
        adding.start()
        found.append(timed(f"discovery, {WATCHERS} watches", 300, lambda: side.get(side.resource.root)))
        stop.set()
        adding.join()
    found.append(Measured(f"from a write to each of {WATCHERS} watches", latency(watching.seconds)))
    return found


def _keep_adding(side: Side, stop: threading.Event) -> None:
    for number in range(2_000_000, 3_000_000):
        if stop.wait(PAUSE):
            return
        side.add(number)


class Watching:
    """`count` watches of all namespaces, each in a thread; `seconds` is how long each change took to each of them."""

    def __init__(self, side: Side, count: int) -> None:
        self._side = side
        self._seen: dict[str, list[float]] = {}
        self._lock = threading.Lock()
        version = side.get(f"{side.resource.path('')}?limit=1")["metadata"]["resourceVersion"]
        path = f"{side.server}{side.resource.path('')}?watch=1&timeoutSeconds=600&resourceVersion={version}"
        self._pools = [urllib3.PoolManager(**side.http.connection_pool_kw) for _ in range(count)]
        self._answers = [pool.request("GET", path, preload_content=False) for pool in self._pools]
        self.seconds: list[float] = []

    def __enter__(self) -> Self:
        for answer in self._answers:
            threading.Thread(target=self._read, args=(answer,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for answer in self._answers:
            answer.shutdown()

    def _read(self, answer: Any) -> None:
        rest = b""
        with suppress(urllib3.exceptions.ProtocolError):  # it is cut at the end
            for piece in answer.stream(65536, decode_content=True):
                *lines, rest = (rest + piece).split(b"\n")
                now = time.perf_counter()
                for line in lines:
                    name = json.loads(line)["object"]["metadata"]["name"]
                    with self._lock:
                        self._seen.setdefault(name, []).append(now)

    def change(self) -> None:
        """Add one after the other, and wait until every watch has seen all."""
        written: dict[str, float] = {}
        for number in range(1_000_000, 1_000_000 + CHANGES):
            name = self._side.add(number)
            written[name] = time.perf_counter()
            time.sleep(PAUSE)
        while any(len(self._seen.get(name, ())) < len(self._answers) for name in written):
            time.sleep(PAUSE)
        with self._lock:
            self.seconds = [max(0.0, seen - began) for name, began in written.items() for seen in self._seen[name]]


def reconciles(plane: ControlPlane, store: Store) -> Side:
    """Rows that the recorder's store writes."""

    def add(number: int) -> str:
        (record,) = records(1, number)
        store.append([record])
        return record.name

    return Side(plane._http, plane.server, RECONCILES, add)


def config_maps(plane: ControlPlane, rows: int) -> Side:
    """As many objects of the same size in etcd."""
    size = len(next(records(1)).body)
    http = urllib3.PoolManager(**plane._http.connection_pool_kw, maxsize=_WRITERS)

    def add(number: int) -> str:
        name, namespace = f"run-{number}", f"team-{number % NAMESPACES}"
        body = {"metadata": {"name": name, "labels": {"outcome": "NoChange"}}, "data": {"body": "x" * size}}
        http.request("POST", plane.server + CONFIG_MAPS.path(namespace), json=body)
        return name

    for number in range(NAMESPACES):
        plane.kubectl("create", "namespace", f"team-{number}")
    with ThreadPoolExecutor(_WRITERS) as pool:
        list(pool.map(add, range(rows)))
    return Side(plane._http, plane.server, CONFIG_MAPS, add)


def main(
    rows: Annotated[int, typer.Option(help="How many objects of each kind there are.")] = 100_000,
    database: Annotated[list[str] | None, typer.Option(help="sqlite, postgresql; both unless given.")] = None,
) -> None:
    """Print how long kube-apiserver takes to answer for the history, and for ConfigMaps."""
    columns: dict[str, list[Measured]] = {}
    with ControlPlane() as plane:
        plane.install()
        for kind in database or ["sqlite", "postgresql"]:
            with ExitStack() as stack:
                url, store = stack.enter_context(stores(kind))
                fill(store, rows)
                group = stack.enter_context(ProcessGroup())
                module, environ = "functions.history.apiserver", {"HISTORY_DATABASE_URL": url}
                api = AggregatedApi(plane, group, "webapp-history", RECONCILES, module, replicas=2, **environ)
                stack.enter_context(api)
                columns[kind] = measure(reconciles(plane, store))
        columns["ConfigMaps"] = measure(config_maps(plane, rows))
    typer.echo(f"{table(rows, columns).markdown()}\n")
    load = os.getloadavg()[0]
    typer.echo(f"{os.cpu_count()} cores, Python {platform.python_version()}, load average {load:.1f} at the end.")


def table(rows: int, columns: dict[str, list[Measured]]) -> Table:
    """p50 and p99 of each side in milliseconds."""
    lines = [
        (each[0].what, *(f"{one.took.p50:g} / {one.took.p99:g}" for one in each))
        for each in zip(*columns.values(), strict=True)
    ]
    head = ("p50 / p99, ms", *columns)
    return Table("aggregation", f"{rows:,} objects of each", head, tuple(lines))


if __name__ == "__main__":
    typer.run(main)
