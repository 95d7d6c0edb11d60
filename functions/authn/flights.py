"""Pure: several requests about one token share one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Flight(Generic[T]):
    """A call in the air; `landing` is where its result will be found, in whatever form the owner waits for one."""

    name: bytes
    landing: T
    waiting: int = 0


class Flights(Generic[T]):
    """The calls in the air by key, and how many requests wait for them in all; at most `waiters`.

    A request for every one of which there is a place holds a thread; the bound keeps some for health and cache hits.
    Not safe for threads.
    """

    def __init__(self, waiters: int, landing: Callable[[], T]) -> None:
        self._free = waiters
        self._landing = landing
        self._flights: dict[bytes, Flight[T]] = {}

    def __len__(self) -> int:
        return len(self._flights)

    def find(self, name: bytes) -> Flight[T] | None:
        """The call that is in the air for this key."""
        return self._flights.get(name)

    def board(self, flight: Flight[T]) -> bool:
        """Wait for a call; False when too many wait already."""
        if self._free <= 0:
            return False
        self._free -= 1
        flight.waiting += 1
        return True

    def start(self, name: bytes) -> Flight[T]:
        """Put a call in the air; there is none for this key."""
        if name in self._flights:
            raise ValueError("a call for this key is in the air: join it")
        flight = self._flights[name] = Flight(name, self._landing())
        return flight

    def land(self, flight: Flight[T]) -> None:
        """Take a call out of the air; those who wait for it wait no longer."""
        del self._flights[flight.name]
        self._free += flight.waiting
