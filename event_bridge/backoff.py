"""Pure: full jitter over exponentially growing intervals (the AWS Architecture Blog's name for it)."""

from __future__ import annotations

from dataclasses import dataclass

_DOUBLINGS = 30  # beyond them every interval is the longest, and a float would overflow some day


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits of up to `first` seconds after one failure, doubled for each further one up to `longest`."""

    first: float
    longest: float

    def seconds(self, failures: int, random: float) -> float:
        """How long to wait after so many failures in a row; `random` is in [0, 1)."""
        return random * min(self.longest, self.first * 2.0 ** min(failures - 1, _DOUBLINGS))
