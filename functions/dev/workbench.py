"""The whole operator on one machine: a cluster, the function, the bridge, a tap, and the history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Self

from cloudevents.core.v1.event import CloudEvent

from functions.dev import history, recording
from functions.dev.answer import Answer
from functions.dev.cluster import Cluster
from functions.dev.controlplane import ControlPlane
from functions.dev.history import History
from functions.dev.operator import Operator
from functions.dev.processes import ProcessError, ProcessGroup, free_port, is_free
from functions.dev.tap import Tap
from functions.webapp.resources import DEFAULT_GROUP

PORT = 8080
"""Where the function listens if nobody else does."""

GRACE_SECONDS = 2.0


class Workbench:
    """A context in which everything runs, and is recorded; nothing it started outlives it.

    `cluster` is a cluster's context manager, which this one enters; `settings` are environment variables for all parts,
    `database` is where the history goes, if not into a file of its own. Attributes inside: `url` of the function,
    `health` of the bridge, `recording` (JSON Lines), `first_event`, a file that appears with the first event, and
    `history`, which is None where nobody could serve it: only a control plane of this machine can call a server on it;
    `recorder` is the URL of the one that writes it.
    """

    def __init__(
        self,
        cluster: AbstractContextManager[Cluster],
        group: str = DEFAULT_GROUP,
        record: Path | None = None,
        settings: Mapping[str, str] | None = None,
        database: str = "",
    ) -> None:
        self._cluster = cluster
        self._group = group
        self._record = record
        self._settings = dict(settings or {})
        self._database = database

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.cluster = stack.enter_context(self._cluster)
            self.cluster.install(self._group)
            self.processes = stack.enter_context(ProcessGroup(grace=GRACE_SECONDS))
            self.recording = self._record or self.processes.folder / "events.jsonl"
            self.first_event = self.processes.folder / "first-event.json"
            self._file = stack.enter_context(self.recording.open("ab", buffering=0))
            operator = Operator(self.cluster, self.processes, self._group)
            self.parts = [operator.name("function"), operator.name("bridge")]
            self._silent: list[str] = []
            self.history = self._start_history(stack)
            if self.history:
                self.recorder = self._settings["BRIDGE_HISTORY_SINK"] = self.history.recorder(operator)
                self._silent = [operator.name("recorder"), "history"]
            self.url = operator.start_function(self._settings, port=PORT if is_free(PORT) else free_port())
            tap = stack.enter_context(Tap(self.url, self._keep))
            self._start_bridge = partial(operator.start_bridge, tap.url, self._settings)
            self.health = self._start_bridge()
            if self.history:
                self.history.serve()
            self._read = dict.fromkeys(self.parts, 0)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start_history(self, stack: ExitStack) -> History | None:
        if not isinstance(self.cluster, ControlPlane) or not history.is_installed():
            return None
        return stack.enter_context(History(self.cluster, self.processes, self._settings, self._database))

    def restart_bridge(self) -> None:
        """End the bridge and start it again; it sees everything anew."""
        self.processes[self.parts[1]].stop()
        self.health = self._start_bridge()

    def news(self) -> Iterator[tuple[str, str]]:
        """Whole lines that were logged since the last call, as (part, line). Raises ProcessError when a part ended.

        The history has nothing to tell but that it was asked.
        """
        for part in self.parts:
            with self.processes[part].log.open("rb") as log:
                log.seek(self._read[part])
                whole, end, _ = log.read().rpartition(b"\n")
            self._read[part] += len(whole) + len(end)
            yield from ((part, line) for line in whole.decode(errors="replace").splitlines())
        for part in (*self.parts, *self._silent):
            if (process := self.processes[part]).returncode is not None:
                raise ProcessError(f"{part} ended with code {process.returncode}; its last words:\n{process.tail()}")

    def _keep(self, event: CloudEvent, _: Answer) -> None:
        if self._file.closed:  # everything ends; what is still under way is not kept
            return
        line = recording.line(event)
        self._file.write(line)
        if not self.first_event.exists():
            self.first_event.write_bytes(line)
