"""CPU time and memory of processes, read from /proc; memory in MiB, as the kernel counts it for a container's limit."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
_PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)
_SAMPLE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Memory:
    """RSS counts a page that two processes share twice, PSS half for each."""

    rss: float = 0.0
    pss: float = 0.0

    def most(self, other: Memory) -> Memory:
        """The larger of each figure."""
        return Memory(max(self.rss, other.rss), max(self.pss, other.pss))


def family(root: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {}
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            parents[int(entry.name)] = int(_stat(int(entry.name))[1])
    found, todo = set[int](), [root]
    while todo:
        pid = todo.pop()
        if pid in parents and pid not in found:
            found.add(pid)
            todo += [child for child, parent in parents.items() if parent == pid]
    return found


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of these processes and of the children they have waited for."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            total += sum(map(int, _stat(pid)[11:15]))
    return total / _TICKS


def memory(pids: Iterable[int]) -> Memory:
    """What these processes hold together."""
    rss = pss = 0.0
    for pid in pids:
        with suppress(OSError):
            rss += int(_stat(pid)[21]) * _PAGE_MIB
            rollup = _PSS.search((_PROC / str(pid) / "smaps_rollup").read_text())
            pss += int(rollup.group(1)) / 1024 if rollup else 0
    return Memory(round(rss, 1), round(pss, 1))


def machine_seconds() -> float:
    """CPU time that anything on this machine has spent, idle and waiting time left out."""
    fields = [int(text) for text in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / _TICKS


@dataclass(frozen=True, slots=True)
class Clock:
    """CPU time spent so far by each role, and by everybody who has nothing to do with the measurement."""

    roles: Mapping[str, float]
    others: float

    @classmethod
    def read(cls, roles: Mapping[str, int]) -> Self:
        """`roles` names a root process each; all of them descend from this process."""
        spent = {role: cpu_seconds(family(pid)) for role, pid in roles.items()}
        return cls(spent, machine_seconds() - cpu_seconds(family(os.getpid())))

    def since(self, before: Clock) -> Clock:
        """What was spent between two moments; a role that was restarted in between counts from its start."""
        roles = {role: spent - min(spent, before.roles.get(role, 0.0)) for role, spent in self.roles.items()}
        return Clock(roles, max(0.0, self.others - before.others))


class Peaks:
    """Samples each role's memory twice a second, as a context."""

    def __init__(self, roles: Callable[[], Mapping[str, int]]) -> None:
        self._roles = roles
        self._peaks: dict[str, Memory] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def read(self) -> dict[str, Memory]:
        """The largest sample of each role so far."""
        return dict(self._peaks)

    def _run(self) -> None:
        while not self._over.wait(_SAMPLE_SECONDS):
            for role, pid in self._roles().items():
                self._peaks[role] = self._peaks.get(role, Memory()).most(memory(family(pid)))


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on (proc(5), field 3)."""
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
