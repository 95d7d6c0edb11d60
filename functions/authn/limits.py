"""Pure: how often, and how many at once, the provider may be asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """`each_second` on average, and up to `burst` at once after a quiet time."""

    each_second: float
    burst: float


class TokenBucket:
    """A token bucket that begins full. Not safe for threads."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._level = rate.burst
        self._at: float | None = None

    def has(self, now: float) -> bool:
        """Whether `take` would succeed."""
        self._fill(now)
        return self._level >= 1.0

    def take(self, now: float) -> bool:
        """One token, or False."""
        if not self.has(now):
            return False
        self._level -= 1.0
        return True

    def _fill(self, now: float) -> None:
        passed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now if self._at is None else max(now, self._at)
        self._level = min(self._rate.burst, self._level + passed * self._rate.each_second)


class Bulkhead:
    """At most `size` calls at once, at most `strangers` of them for tokens never seen before. Not safe for threads."""

    def __init__(self, size: int, strangers: int) -> None:
        self._size = size
        self._strangers = strangers
        self._inside = 0
        self._strangers_inside = 0

    def has_room(self, *, stranger: bool) -> bool:
        """Whether one more may enter."""
        return self._inside < self._size and not (stranger and self._strangers_inside >= self._strangers)

    def enter(self, *, stranger: bool) -> None:
        """One more is inside; every `enter` is followed by one `leave`."""
        self._inside += 1
        self._strangers_inside += stranger

    def leave(self, *, stranger: bool) -> None:
        """One is out."""
        self._inside -= 1
        self._strangers_inside -= stranger
