"""Pure: a circuit breaker over calls to one provider.

Why not a library: pybreaker, circuitbreaker and purgatory count failures only; interlock-cb, the nearest, has windows,
slow calls and bounded probes, but neither a rule for runs of failures nor an open time that the provider itself can
lengthen by Retry-After, nor a trip on one decisive answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """As a metric: closed 0, half-open 1, open 2."""

    CLOSED = "closed"
    HALF_OPEN = "half_open"
    OPEN = "open"


class Outcome(StrEnum):
    """What a call says about the provider's health."""

    GOOD = "good"
    SLOW = "slow"
    """Answered, too late to be called healthy."""
    FAILED = "failed"
    DECISIVE = "decisive"
    """One is enough to open: the provider refuses our own credential."""
    NEUTRAL = "neutral"
    """It says nothing, such as a complaint about this one request."""


@dataclass(frozen=True)
class Rules:
    """When to open and for how long; spans in seconds."""

    window: float = 20.0
    calls: int = 10
    share: float = 0.5
    run: int = 5
    open_first: float = 5.0
    open_longest: float = 60.0
    jitter: float = 0.2
    retry_after_longest: float = 300.0
    probes: int = 2


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to make one call, to be given back with its outcome; one of an earlier state counts for nothing."""

    generation: int
    probe: bool


class Breaker:
    """Closed, open for a while, half-open with one probe at a time; begins half-open, since it has seen nothing yet.

    It opens after `run` failures in a row, or when at least `calls` calls within `window` were answered and the `share`
    of them that failed or were slow is reached. Each opening that no closing came between doubles the time, up to
    `open_longest`; `random`, called for a number from -1 to 1, spreads it by `jitter`. `probes` good probes close it,
    a bad one opens it again. Not safe for threads: its owner holds the lock.
    """

    def __init__(self, rules: Rules, random: Callable[[], float]) -> None:
        self._rules = rules
        self._random = random
        self._state = State.HALF_OPEN
        self._generation = 0
        self._open_until = 0.0
        self._not_before = float("-inf")
        self._openings = 0
        self._probing = False
        self._good_probes = 0
        self._failed_in_a_row = 0
        self._seen: deque[tuple[float, bool]] = deque()

    def state(self, now: float) -> State:
        """The state at `now`; an open one turns half-open by time alone."""
        if self._state is State.OPEN and now >= self._open_until:
            self._enter(State.HALF_OPEN)
        return self._state

    def permits(self, now: float) -> bool:
        """Whether `admit` would give a permit."""
        state = self.state(now)
        return state is State.CLOSED or (state is State.HALF_OPEN and not self._probing)

    def admit(self, now: float) -> Permit | None:
        """A permit for one call, or None: leave the provider alone. Every permit must be reported."""
        if not self.permits(now):
            return None
        self._probing = self._state is State.HALF_OPEN
        return Permit(self._generation, self._probing)

    def report(self, permit: Permit, outcome: Outcome, now: float, retry_after: float | None = None) -> None:
        """Give a permit back. `retry_after` is the provider's wish in seconds: no opening ends before it."""
        if retry_after is not None:
            wish = now + min(max(retry_after, 0.0), self._rules.retry_after_longest)
            self._not_before = max(self._not_before, wish)
            if self._state is State.OPEN:
                self._open_until = max(self._open_until, wish)
        if permit.generation != self._generation or self.state(now) is State.OPEN:
            return
        if self._state is State.HALF_OPEN:
            self._probed(outcome, now)
        else:
            self._counted(outcome, now)

    def _probed(self, outcome: Outcome, now: float) -> None:
        self._probing = False
        if outcome is Outcome.GOOD:
            self._good_probes += 1
            if self._good_probes >= self._rules.probes:
                self._openings = 0
                self._enter(State.CLOSED)
        elif outcome is not Outcome.NEUTRAL:
            self._open(now)

    def _counted(self, outcome: Outcome, now: float) -> None:
        if outcome is Outcome.NEUTRAL:
            return
        self._failed_in_a_row = self._failed_in_a_row + 1 if outcome is Outcome.FAILED else 0
        self._seen.append((now, outcome is not Outcome.GOOD))
        while self._seen[0][0] <= now - self._rules.window:
            self._seen.popleft()
        bad = sum(was_bad for _, was_bad in self._seen)
        many = len(self._seen) >= self._rules.calls and bad >= self._rules.share * len(self._seen)
        if many or self._failed_in_a_row >= self._rules.run or outcome is Outcome.DECISIVE:
            self._open(now)

    def _open(self, now: float) -> None:
        span = min(self._rules.open_first * 2.0 ** min(self._openings, 60), self._rules.open_longest)
        span *= 1.0 + self._rules.jitter * self._random()
        self._openings += 1
        self._open_until = max(now + span, self._not_before)
        self._enter(State.OPEN)

    def _enter(self, state: State) -> None:
        self._state = state
        self._generation += 1
        self._probing = False
        self._good_probes = 0
        self._failed_in_a_row = 0
        self._seen.clear()
