"""How long the reconcile function takes from exec to its first healthy answer, and what it then weighs."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tests.bench import usage
from tests.bench.figures import mid
from tests.bench.pods import start_function
from tests.bench.rig import Rig
from tests.bench.usage import Memory


@dataclass(frozen=True, slots=True)
class ColdStart:
    """Medians of several starts, with the byte code of an earlier one present, as it is in the image."""

    starts: int
    ready_ms: float
    cpu_ms: float
    memory: Memory


def measure(rig: Rig, starts: int = 5) -> ColdStart:
    """Start and stop the function so many times, after one more that does not count."""
    found = list[tuple[float, float, Memory]]()
    rig.pod("webapp-reconciler")  # its token is made before the clock runs
    for _ in range(starts + 1):
        begun = time.monotonic()
        process, _ = start_function(rig)
        ready = time.monotonic() - begun
        family = usage.family(process.pid)
        found.append((1000 * ready, 1000 * usage.cpu_seconds(family), usage.memory(family)))
        process.stop()
    counted = found[1:]
    return ColdStart(
        starts,
        round(mid(ready for ready, _, _ in counted)),
        round(mid(cpu for _, cpu, _ in counted)),
        Memory(mid(each.rss for _, _, each in counted), mid(each.pss for _, _, each in counted)),
    )
