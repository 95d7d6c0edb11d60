"""How a watch waits while the API server refuses it, by a clock of the test's own: ten minutes take milliseconds."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from event_bridge import settings, watch
from event_bridge.bridge import Bridge
from event_bridge.figures import Figures
from event_bridge.watch import Watch
from functions.webapp.errors import Throttled, Unavailable
from tests.bridge_parts import WEBAPP

REFUSED_SECONDS = 600.0
SCOPE = (WEBAPP, "")


class Refusing:
    """An API server that refuses lists for ten minutes, and the clock that they are measured by."""

    def __init__(self, error: Unavailable) -> None:
        self._error = error
        self.now = 1000.0
        self.back = self.now + REFUSED_SECONDS
        self.waits: list[float] = []
        self._ended = False

    def fetch(self, *_: Any, **__: Any) -> bytes:
        if self.now < self.back:
            raise self._error
        return b'{"metadata": {"resourceVersion": "7"}, "items": []}'

    def stream(self, *_: Any, **__: Any) -> Stream:
        self._ended = True
        return Stream()

    def wait(self, seconds: float) -> None:
        """In place of the event that ends the watch."""
        self.waits.append(seconds)
        self.now += seconds

    def is_set(self) -> bool:
        return self._ended


class Stream:
    """A watch that the API server ends after a bookmark."""

    def __iter__(self) -> Iterator[bytes]:
        yield b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "8"}}}'

    def close(self) -> None:
        """It has ended."""


def followed(error: Unavailable, monkeypatch: pytest.MonkeyPatch) -> tuple[Refusing, Bridge]:
    """What a watch did until it could list and follow, always unlucky with its jitter."""
    api, figures = Refusing(error), Figures([WEBAPP.kind])
    bridge = Bridge([SCOPE], concurrency=4, figures=figures)
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: api.now))
    monkeypatch.setattr("event_bridge.watch.random.random", lambda: 1.0)
    made = Watch(SCOPE, api, bridge, figures, settings.load({}))  # type: ignore[arg-type]
    made._ending = api  # type: ignore[assignment]
    made.run()
    return api, bridge


def test_a_watch_that_is_refused_for_ten_minutes_waits_half_a_minute_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    api, _ = followed(Unavailable("refused", code=503), monkeypatch)
    assert api.waits[:7] == [0.5, 1, 2, 4, 8, 16, 30]
    assert set(api.waits[7:]) == {30}
    assert sum(api.waits) < REFUSED_SECONDS + 30


def test_it_is_synced_by_the_first_list_that_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    api, bridge = followed(Unavailable("refused", code=503), monkeypatch)
    assert api.back <= api.now == 1000.0 + sum(api.waits)
    assert bridge.unsynced == set()


def test_it_waits_as_long_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    api, _ = followed(Throttled("later", code=429, retry_after=45), monkeypatch)
    assert set(api.waits) == {45}
