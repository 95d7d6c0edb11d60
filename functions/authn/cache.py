"""Pure: what the provider said lately, bounded in number and in time, under keys that are no tokens."""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from functions.authn.verdict import Active, Inactive, Instant, Verdict

V = TypeVar("V")


def key(secret: bytes, token: str, audiences: Iterable[str]) -> bytes:
    """HMAC-SHA256 over token and sorted audiences, each behind its length so that no two lists read alike."""
    parts = [token.encode(), *sorted(each.encode() for each in audiences)]
    return hmac.new(secret, b"".join(len(part).to_bytes(8, "big") + part for part in parts), hashlib.sha256).digest()


@dataclass(frozen=True)
class Spans:
    """How long a verdict holds, in seconds, and how many are kept of each kind.

    `good` and `bad`: served without asking. `grace`: how long after the provider vouched for it a token may be served
    when the provider cannot be asked; 0 switches that off. `known`: how long its bearer counts as known.
    """

    good: float = 60.0
    bad: float = 10.0
    grace: float = 600.0
    known: float = 3600.0
    entries: int = 10_000


class Recent(Generic[V]):
    """The newest `size` values and the moments they came at; using one keeps it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[bytes, tuple[V, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._items)

    def put(self, name: bytes, value: V, at: float) -> None:
        """Keep a value, and let the least used one go if there are too many."""
        self._items[name] = (value, at)
        self._items.move_to_end(name)
        if len(self._items) > self._size:
            self._items.popitem(last=False)

    def get(self, name: bytes) -> tuple[V, float] | None:
        """The value and its moment."""
        found = self._items.get(name)
        if found is not None:
            self._items.move_to_end(name)
        return found

    def drop(self, name: bytes) -> None:
        """Forget a value, if there is one."""
        self._items.pop(name, None)


class Cache:
    """Verdicts by key; good and bad ones apart, so that a flood of bad tokens pushes no good one out.

    Not safe for threads.
    """

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self._good: Recent[Active] = Recent(spans.entries)
        self._bad: Recent[Inactive] = Recent(spans.entries)

    def __len__(self) -> int:
        return len(self._good) + len(self._bad)

    def put(self, name: bytes, verdict: Verdict, now: Instant) -> None:
        """Take down what the provider said; an inactive token is forgotten as a good one for good."""
        if isinstance(verdict, Inactive):
            self._good.drop(name)
            self._bad.put(name, verdict, now.steady)
        else:
            self._bad.drop(name)
            self._good.put(name, verdict, now.steady)

    def fresh(self, name: bytes, now: Instant) -> Verdict | None:
        """A verdict that holds without asking anybody."""
        if bad := self._bad.get(name):
            if now.steady - bad[1] < self._spans.bad:
                return bad[0]
            self._bad.drop(name)
        return self._vouched(name, now, self._spans.good)

    def stale(self, name: bytes, now: Instant) -> Active | None:
        """A verdict to fall back on while the provider cannot be asked: within the grace, and never past `exp`."""
        return self._vouched(name, now, self._spans.grace)

    def knows(self, name: bytes, now: Instant) -> bool:
        """Whether the provider vouched for the token lately, and has not taken it back."""
        return self._vouched(name, now, self._spans.known) is not None

    def _vouched(self, name: bytes, now: Instant, span: float) -> Active | None:
        found = self._good.get(name)
        if found is None:
            return None
        active, at = found
        if active.expires_at is not None and now.wall >= active.expires_at:
            self._good.drop(name)
            return None
        return active if now.steady - at < span else None
