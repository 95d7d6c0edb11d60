"""Pure: what can be known about a token, and the two clocks that decide how long."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Instant(NamedTuple):
    """One moment on both clocks, in seconds: `steady` measures spans, `wall` is what a token's `exp` means."""

    steady: float
    wall: float


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a token stands for; `groups` and `extra` are in the provider's order."""

    username: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Active:
    """The provider vouched for the token until `expires_at` (wall clock; None where it named no end).

    `audiences` are the token's own, not those that a TokenReview asked for.
    """

    identity: Identity
    audiences: frozenset[str] = frozenset()
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class Inactive:
    """The token is no good, and asking again will not change it; `why` is a word for metrics."""

    why: str = "inactive"


class Fault(StrEnum):
    """Why a verdict could not be had."""

    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    STATUS = "status"
    THROTTLED = "throttled"
    MALFORMED = "malformed"
    CREDENTIAL = "credential"
    UNEXPECTED = "unexpected"
    CIRCUIT_OPEN = "circuit_open"
    BULKHEAD = "bulkhead"
    RATE_LIMIT = "rate_limit"
    CROWDED = "crowded"
    INTERNAL = "internal"

    @property
    def text(self) -> str:
        """What the API server's log is told: no token, no user, no address."""
        return _TEXTS[self]


_TEXTS = {
    Fault.TIMEOUT: "the identity provider did not answer in time",
    Fault.UNREACHABLE: "the identity provider cannot be reached",
    Fault.STATUS: "the identity provider answered with a server error",
    Fault.THROTTLED: "the identity provider throttles us",
    Fault.MALFORMED: "the identity provider's answer cannot be read",
    Fault.CREDENTIAL: "the identity provider refused the webhook's own credential: check its secret",
    Fault.UNEXPECTED: "the identity provider answered with a client error: check its URL",
    Fault.CIRCUIT_OPEN: "the identity provider is ill and is being left alone",
    Fault.BULKHEAD: "too many calls to the identity provider at once",
    Fault.RATE_LIMIT: "too many tokens that need the identity provider",
    Fault.CROWDED: "too many requests wait for the identity provider",
    Fault.INTERNAL: "an unexpected error in the webhook, told in its log",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """There is no verdict; `retry_after` is how many seconds the provider asked to be left alone."""

    fault: Fault
    retry_after: float | None = None


Verdict = Active | Inactive
Result = Active | Inactive | Failure
