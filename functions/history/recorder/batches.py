"""Group commit: events that arrive while a transaction is under way share the next one.

Nobody is made to wait for company: an event that comes alone is written at once, alone.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late

from functions.aggregation.status import Unavailable
from functions.history.recorder.transaction import Entry
from functions.webapp.errors import TryAgain

MOST = 500
"""Events of one transaction."""

_log = logging.getLogger(__name__)

_Waiting = tuple[Entry, Future[None]]


class NotRecorded(TryAgain):
    """The event is not durable, or nobody knows whether it is: sent again it does no harm."""

    error_type = "not_recorded"
    retry_after = 5.0


class Batches:
    """Entries from many threads, written by one; `limit` of them may wait, each for `seconds`."""

    def __init__(self, write: Callable[[Sequence[Entry]], None], *, limit: int, seconds: float) -> None:
        self._write, self._limit, self._seconds = write, limit, seconds
        self._waiting: deque[_Waiting] = deque()
        self._under_way = 0
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
        self._thread.start()

    def put(self, entry: Entry) -> None:
        """Return when it is durable. Raises NotRecorded, or what a write raises that has only this entry."""
        done: Future[None] = Future()
        with self._changed:
            if self._is_closed or len(self._waiting) + self._under_way >= self._limit:
                raise NotRecorded(f"{self._limit} events wait for the database already")
            self._waiting.append((entry, done))
            self._changed.notify()
        try:
            done.result(self._seconds)
        except Late:
            raise NotRecorded(f"the database took longer than {self._seconds:g} s") from None

    def close(self) -> None:
        """Write what waits, and take nothing more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(self._seconds)

    def _run(self) -> None:
        while batch := self._take():
            try:
                self._commit(batch)
            finally:
                with self._changed:
                    self._under_way = 0

    def _take(self) -> list[_Waiting]:
        """The next batch; empty only at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            batch = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
            self._under_way = len(batch)
            return batch

    def _commit(self, batch: list[_Waiting]) -> None:
        try:
            self._write([entry for entry, _ in batch])
        except Unavailable as error:
            self._give_up(batch, error)
        except Exception as error:  # noqa: BLE001 - one event must not keep the others from being recorded
            if len(batch) == 1:
                batch[0][1].set_exception(error)
            else:
                for each in batch:
                    self._commit([each])
        else:
            for _, done in batch:
                done.set_result(None)

    def _give_up(self, batch: list[_Waiting], error: Unavailable) -> None:
        """Those that came meanwhile would wait as long for the same answer."""
        with self._changed:
            batch = [*batch, *self._waiting]
            self._waiting.clear()
        _log.warning("not recorded", extra={"fields": {"events": len(batch), "detail": str(error)}})
        for _, done in batch:
            done.set_exception(NotRecorded(str(error)))
