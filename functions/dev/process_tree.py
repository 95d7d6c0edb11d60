"""Which processes a process has started, read from /proc."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path


def children(parent: int) -> list[int]:
    """Their ids, in no order; zombies included."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(stat.parts[2]))
    return found


def signal_all(parent: int, number: signal.Signals) -> list[int]:
    """Send a signal to a process and to its children, the parent first; the ids of these that there were."""
    reached = [parent, *children(parent)]
    for pid in reached:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    return reached
