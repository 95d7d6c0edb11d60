"""When each WebApp's status caught up with its spec, seen by a watch in a process that does nothing else."""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from functions.runtime.kube import Api, Call
from functions.webapp.errors import ApiError
from tests.bench.rig import NAMESPACE, RESOURCE, admin

State = tuple[str, int]
"""A WebApp's name and one of its generations."""

_IDLE_SECONDS = 600.0
_POLL_SECONDS = 0.02


class Observer:
    """A context in which WebApps are watched; times are those of the monotonic clock, which all processes share."""

    def __init__(self, kubeconfig: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        self._process = context.Process(target=_observe, args=(kubeconfig, far), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        self._pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.terminate()
        self._process.join()

    def done(self) -> dict[State, float]:
        """When each generation was first seen to be told by a status with a Ready condition."""
        self._pipe.send("done")
        found: dict[State, float] = self._pipe.recv()
        return found

    def await_states(self, states: set[State], seconds: float) -> dict[State, float]:
        """The same, once all of `states` are done; raises TimeoutError, which says how many are not."""
        deadline = time.monotonic() + seconds
        while True:
            self._pipe.send(states)
            missing: int = self._pipe.recv()
            if not missing:
                return self.done()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{missing} of {len(states)} WebApps have no status of their spec after {seconds} s")
            time.sleep(_POLL_SECONDS)


def _observe(kubeconfig: Path, pipe: Connection) -> None:
    done: dict[State, float] = {}
    lock = threading.Lock()
    api = admin(kubeconfig, connections=2)
    version = api.send(Call("GET", RESOURCE, NAMESPACE))["metadata"]["resourceVersion"]
    threading.Thread(target=_watch, args=(api, version, done, lock), daemon=True).start()
    pipe.send("watching")
    while True:
        try:
            asked = pipe.recv()
        except EOFError:
            return
        with lock:
            pipe.send(dict(done) if asked == "done" else len(asked - done.keys()))


def _watch(api: Api, version: str, done: dict[State, float], lock: threading.Lock) -> None:
    while True:
        params = (("watch", "1"), ("resourceVersion", version), ("allowWatchBookmarks", "true"))
        try:
            for line in api.stream(Call("GET", RESOURCE, NAMESPACE, params=params), idle=_IDLE_SECONDS):
                now = time.monotonic()
                found = json.loads(line)
                version = found["object"]["metadata"]["resourceVersion"]
                if found["type"] in {"ADDED", "MODIFIED"} and _told(found["object"]):
                    meta = found["object"]["metadata"]
                    with lock:
                        done.setdefault((meta["name"], meta["generation"]), now)
        except ApiError:
            time.sleep(_POLL_SECONDS)  # the API server restarts


def _told(webapp: dict[str, Any]) -> bool:
    status = webapp.get("status") or {}
    ready = any(each["type"] == "Ready" for each in status.get("conditions") or ())
    return ready and status.get("observedGeneration") == webapp["metadata"]["generation"]
