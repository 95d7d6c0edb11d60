"""Pure: whether the sink as a whole is away, and how often it is tried while it is."""

from __future__ import annotations

from typing import Final

from event_bridge.backoff import Backoff

FAILURES: Final = 3
"""So many failures in a row, each of another WebApp, mean that it is not the WebApp that fails."""

BACKOFF: Final = Backoff(0.4, 5.0)
HANG_SECONDS: Final = 10.0
"""A probe that has been silent for so long no longer keeps the next one back."""


class Outage:
    """Counts failures of the sink; while it is down, one probe at a time asks whether it is back."""

    def __init__(self) -> None:
        self.down = False
        self._failed: set[str] = set()
        self._tries = 0
        self._next = 0.0

    def opens_at(self) -> float:
        """When the next send may start; 0 while the sink is up."""
        return self._next if self.down else 0.0

    def started(self, now: float) -> bool:
        """A send starts; tells whether it is a probe."""
        if self.down:
            self._next = now + HANG_SECONDS
        return self.down

    def failed(self, key: str, now: float, *, probe: bool, random: float) -> None:
        """A send ended without an answer that shows a working sink; `random` is in [0, 1)."""
        if self.down:
            if probe:
                self._wait(now, random)
            return
        self._failed.add(key)
        if len(self._failed) >= FAILURES:
            self.down = True
            self._tries = 0
            self._wait(now, random)

    def answered(self) -> bool:
        """The sink answered; tells whether it had been down."""
        was, self.down = self.down, False
        self._failed.clear()
        return was

    def _wait(self, now: float, random: float) -> None:
        self._tries += 1
        self._next = now + BACKOFF.seconds(self._tries, random)
