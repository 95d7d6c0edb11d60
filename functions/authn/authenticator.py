"""The gate at work: one lock around it, a pool for the calls it allows, and futures for those who wait."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from random import SystemRandom

from opentelemetry.context import Context

from functions.authn import cache, claims, token_shape
from functions.authn.breaker import State
from functions.authn.claims import ClaimMap
from functions.authn.gate import Answer, Gate, Lead, Limits, Source
from functions.authn.measures import OURS, Measures
from functions.authn.provider import Provider
from functions.authn.verdict import Active, Failure, Fault, Inactive, Instant, Result

_log = logging.getLogger("functions.authn")


@dataclass(frozen=True)
class Policy:
    """What the authenticator does with tokens, besides the gate's limits; `patience` in seconds."""

    limits: Limits
    mapping: ClaimMap
    issuers: Collection[str] = ()
    longest_token: int = 8192
    patience: float = 3.0


def clock() -> Instant:
    """Now."""
    return Instant(time.monotonic(), time.time())


class Authenticator:
    """Answers about tokens from any number of threads, each within `policy.patience` seconds."""

    def __init__(
        self, policy: Policy, provider: Provider, measures: Measures, now: Callable[[], Instant] = clock
    ) -> None:
        self._policy = policy
        self._provider = provider
        self._measures = measures
        self._now = now
        self._secret = secrets.token_bytes(32)
        self._lock = threading.Lock()
        spread = SystemRandom()
        self._gate: Gate[Future[Answer]] = Gate(policy.limits, Future, lambda: spread.uniform(-1.0, 1.0))
        self._state = State.HALF_OPEN
        self._pool = ThreadPoolExecutor(policy.limits.calls, "provider")
        measures.watch(self.state, self._remembered)

    def authenticate(self, token: str, audiences: Collection[str], context: Context) -> Answer:
        """The answer about a token that is shown to `audiences`."""
        now = self._now()
        if bad := token_shape.refuse(token, self._policy.issuers, now.wall, longest=self._policy.longest_token):
            return Answer(bad, Source.LOCAL)
        name = cache.key(self._secret, token, audiences)
        with self._lock:
            entered = self._gate.enter(name, now)
            self._notice()
        if isinstance(entered, Answer):
            self._count_throttled(entered)
            return entered
        if isinstance(entered, Lead):
            self._pool.submit(self._call, entered, token, context)
        try:
            return entered.flight.landing.result(self._policy.patience)
        except TimeoutError:
            with self._lock:
                return self._gate.give_up(name, self._now())

    def warm_up(self) -> None:
        """Ask about tokens that nobody has until the breaker is closed or open.

        It begins half-open; without this, users would have to probe the provider at each start of a replica.
        """
        for _ in range(self._policy.limits.rules.probes):
            self.authenticate(f"warm-up-{secrets.token_urlsafe(24)}", (), Context())

    def state(self) -> State:
        """The breaker's state now."""
        with self._lock:
            return self._gate.state(self._now())

    def close(self) -> None:
        """No new calls; those that are out end by their own budget."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _call(self, lead: Lead[Future[Answer]], token: str, context: Context) -> None:
        begun = self._now()
        result: Result = Failure(Fault.INTERNAL)
        try:
            result = self._verdict(token, begun.wall, context)
        except Exception:  # noqa: BLE001 - whatever happens, the permit goes back and nobody waits in vain
            _log.exception("unexpected error in a call to the identity provider")
        finally:
            now = self._now()
            with self._lock:
                answer = self._gate.leave(lead, result, now.steady - begun.steady, now)
                self._notice()
            lead.flight.landing.set_result(answer)
        self._count_call(result, now.steady - begun.steady)

    def _verdict(self, token: str, wall: float, context: Context) -> Result:
        found = self._provider.check(token, wall, context)
        if isinstance(found, Inactive | Failure):
            return found
        mapped = claims.user(found, self._policy.mapping)
        self._measures.dropped.inc(mapped.dropped)
        return mapped.verdict

    def _remembered(self) -> int:
        with self._lock:
            return self._gate.remembered()

    def _notice(self) -> None:
        """Tell of a change of the breaker's state; called under the lock."""
        state = self._gate.state(self._now())
        if state is not self._state:
            self._state = state
            self._measures.turns.labels(state).inc()
            _log.log(logging.WARNING if state is State.OPEN else logging.INFO, "breaker is %s", state)

    def _count_throttled(self, answer: Answer) -> None:
        fault = answer.covers or (answer.result.fault if isinstance(answer.result, Failure) else None)
        if fault in OURS:
            self._measures.throttled.labels(fault).inc()

    def _count_call(self, result: Result, seconds: float) -> None:
        self._measures.seconds.observe(seconds)
        if isinstance(result, Failure):
            self._measures.calls.labels(result.fault).inc()
            if result.fault in {Fault.CREDENTIAL, Fault.UNEXPECTED}:
                _log.error(result.fault.text)
        else:
            self._measures.calls.labels("active" if isinstance(result, Active) else "inactive").inc()
