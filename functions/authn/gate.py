"""Pure: between a token and a call to the provider stand cache, single-flight, limiter, bulkhead and breaker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from functions.authn.breaker import Breaker, Outcome, Permit, Rules, State
from functions.authn.cache import Cache, Spans
from functions.authn.flights import Flight, Flights
from functions.authn.limits import Bulkhead, Rate, TokenBucket
from functions.authn.verdict import Failure, Fault, Instant, Result

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """What the gate allows. `strangers` are tokens that the provider has not vouched for lately."""

    rules: Rules = field(default_factory=Rules)
    spans: Spans = field(default_factory=Spans)
    known: Rate = field(default_factory=lambda: Rate(50.0, 200.0))
    strangers: Rate = field(default_factory=lambda: Rate(10.0, 50.0))
    calls: int = 16
    stranger_calls: int = 8
    waiters: int = 64
    slow: float = 1.0


class Source(StrEnum):
    """Where an answer came from."""

    PROVIDER = "provider"
    CACHE = "cache"
    STALE = "stale"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Answer:
    """A result and where it came from; a stale one also says which failure it covers."""

    result: Result
    source: Source
    covers: Fault | None = None


@dataclass(frozen=True, slots=True)
class Follow(Generic[T]):
    """Somebody asks the provider about this token already: wait for that."""

    flight: Flight[T]


@dataclass(frozen=True, slots=True)
class Lead(Generic[T]):
    """Leave to ask the provider, once; must be given back by `Gate.leave`."""

    flight: Flight[T]
    permit: Permit
    stranger: bool


class Gate(Generic[T]):
    """Decides about every token whose shape is right. Not safe for threads: its owner holds a lock around each method.

    `landing` makes what waiting requests wait on; the gate hands it around and never looks inside.
    """

    def __init__(self, limits: Limits, landing: Callable[[], T], random: Callable[[], float]) -> None:
        self._limits = limits
        self._cache = Cache(limits.spans)
        self._flights: Flights[T] = Flights(limits.waiters, landing)
        self._known = TokenBucket(limits.known)
        self._strangers = TokenBucket(limits.strangers)
        self._bulkhead = Bulkhead(limits.calls, limits.stranger_calls)
        self._breaker = Breaker(limits.rules, random)

    def state(self, now: Instant) -> State:
        """The breaker's state."""
        return self._breaker.state(now.steady)

    def remembered(self) -> int:
        """How many verdicts the cache holds."""
        return len(self._cache)

    def enter(self, name: bytes, now: Instant) -> Answer | Follow[T] | Lead[T]:
        """What to do about the token behind a cache key.

        Nothing is used up by a request that is turned away: while the breaker is open, no allowance is lost that the
        recovery will need.
        """
        if fresh := self._cache.fresh(name, now):
            return Answer(fresh, Source.CACHE)
        if flight := self._flights.find(name):
            return Follow(flight) if self._flights.board(flight) else self._fall_back(name, Fault.CROWDED, now)
        stranger = not self._cache.knows(name, now)
        bucket = self._strangers if stranger else self._known
        if not bucket.has(now.steady):
            return self._fall_back(name, Fault.RATE_LIMIT, now)
        if not self._bulkhead.has_room(stranger=stranger):
            return self._fall_back(name, Fault.BULKHEAD, now)
        permit = self._breaker.admit(now.steady)
        if permit is None:
            return self._fall_back(name, Fault.CIRCUIT_OPEN, now)
        bucket.take(now.steady)
        self._bulkhead.enter(stranger=stranger)
        return Lead(self._flights.start(name), permit, stranger)

    def leave(self, lead: Lead[T], result: Result, seconds: float, now: Instant) -> Answer:
        """The call is over after `seconds`: the answer for everybody who waits on its flight."""
        self._bulkhead.leave(stranger=lead.stranger)
        self._flights.land(lead.flight)
        retry_after = result.retry_after if isinstance(result, Failure) else None
        self._breaker.report(lead.permit, outcome(result, seconds, self._limits.slow), now.steady, retry_after)
        if isinstance(result, Failure):
            return self._fall_back(lead.flight.name, result.fault, now)
        self._cache.put(lead.flight.name, result, now)
        return Answer(result, Source.PROVIDER)

    def give_up(self, name: bytes, now: Instant) -> Answer:
        """The answer for a request that can wait no longer, though the call goes on."""
        return self._fall_back(name, Fault.TIMEOUT, now)

    def _fall_back(self, name: bytes, fault: Fault, now: Instant) -> Answer:
        if stale := self._cache.stale(name, now):
            return Answer(stale, Source.STALE, fault)
        return Answer(Failure(fault), Source.LOCAL if fault in _OURS else Source.PROVIDER)


_OURS = frozenset({Fault.CIRCUIT_OPEN, Fault.BULKHEAD, Fault.RATE_LIMIT, Fault.CROWDED})


def outcome(result: Result, seconds: float, slow: float) -> Outcome:
    """What a call says about the provider: infrastructure alone counts, never a verdict about a token."""
    if not isinstance(result, Failure):
        return Outcome.SLOW if seconds >= slow else Outcome.GOOD
    if result.fault is Fault.CREDENTIAL:
        return Outcome.DECISIVE
    if result.fault in {Fault.UNEXPECTED, Fault.INTERNAL}:
        return Outcome.NEUTRAL
    return Outcome.FAILED
