"""What measurements come to: quantiles of latencies, medians of rounds, ratios between contenders."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tests.bench.usage import Memory

_KEPT_OPEN = frozenset({"watch", "list"})
_HEARTBEATS = frozenset({"leases"})
_READS = frozenset({"get", "list", "watch"})


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds; `count` says of how many."""

    count: int
    p50: float
    p99: float
    most: float


@dataclass(frozen=True, slots=True)
class Phase:
    """One load, from its first request to the last status that answers it; CPU in ms and requests per WebApp."""

    webapps: int
    seconds: float
    latency: Latency
    cpu_ms: Mapping[str, float]
    others_cpu_seconds: float
    stale_children: int
    requests: Mapping[str, float] = field(default_factory=dict)
    events: float | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """Everything measured of one contender on one fresh control plane; memory by role."""

    contender: str
    resident: tuple[str, ...]
    ready_seconds: float
    idle: Mapping[str, Memory]
    create: Phase
    rest: Mapping[int, Mapping[str, Memory]]
    restarted: Mapping[int, Mapping[str, Memory]]
    peak: Mapping[str, Memory]
    quiet_writes: int
    edit: Phase
    image: Phase

    def resting(self, webapps: int) -> float:
        """RSS that stays between two changes, with so many WebApps."""
        return sum(self.rest[webapps][role].rss for role in self.resident)


def latency(seconds: Iterable[float]) -> Latency:
    """Nearest-rank quantiles; nothing measured gives zeros."""
    values = sorted(seconds)
    if not values:
        return Latency(0, 0.0, 0.0, 0.0)

    def rank(share: float) -> float:
        return round(1000 * values[max(0, math.ceil(share * len(values)) - 1)], 1)

    return Latency(len(values), rank(0.5), rank(0.99), rank(1.0))


def per_webapp(requests: Iterable[Mapping[str, Any]], webapps: int) -> dict[str, float]:
    """Finished requests by verb from audit events; lists, watches and the heartbeat of a Lease are left out."""
    verbs = Counter(each["verb"] for each in requests if not _standing(each))
    return {verb: round(count / webapps, 2) for verb, count in sorted(verbs.items())}


def writes(requests: Iterable[Mapping[str, Any]]) -> int:
    """How many of these audit events are writes to anything but a Lease."""
    return sum(not _standing(each) and each["verb"] not in _READS for each in requests)


def mid(values: Iterable[float]) -> float:
    """The median, 0 of nothing."""
    found = list(values)
    return float(median(found)) if found else 0.0


def ratio(ours: float, theirs: float) -> float:
    """`ours` as a multiple of `theirs`."""
    return ours / theirs if theirs else math.inf


def _standing(request: Mapping[str, Any]) -> bool:
    return request["verb"] in _KEPT_OPEN or (request.get("objectRef") or {}).get("resource") in _HEARTBEATS
