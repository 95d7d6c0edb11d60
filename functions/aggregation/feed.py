"""The newest changes of a collection, asked for once and kept for all watches of the process."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from functions.aggregation.collection import Change, Changes, Collection
from functions.aggregation.status import Expired, StatusError

BATCH = 500
_KEPT = 2048
_MAX_PAUSE_SECONDS = 5.0
_log = logging.getLogger(__name__)


class Feed:
    """Asks every `seconds` while anybody watches; `failed` is called whenever it gets no answer.

    A watch holds nothing but the version that it has come to. One that is slower than the changes reads them from the
    collection again, at its own pace, so no memory grows for it.
    """

    def __init__(
        self,
        collection: Collection,
        failed: Callable[[], None] = lambda: None,
        *,
        seconds: float = 0.5,
        kept: int = _KEPT,
    ) -> None:
        self._collection = collection
        self._failed = failed
        self._seconds = seconds
        self._changed = threading.Condition()
        self._ring: deque[Change] = deque(maxlen=kept)
        self._floor = self._head = -1  # nothing is known yet; later the ring holds all that changed between them
        self._highest = -1
        self._watches = 0
        self._thread: threading.Thread | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """The feed runs inside."""
        with self._changed:
            self._watches += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="feed", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._watches -= 1

    def reaches(self, version: int, patience: float) -> bool:
        """Whether a version is known to be reached within `patience` seconds; also true while nothing is known."""
        with self._changed:
            return self._changed.wait_for(lambda: self._head >= version, patience) or self._head < 0

    def since(self, after: int, patience: float) -> Changes:
        """Changes after a version, at least one unless none comes within `patience` seconds.

        Raises Expired for a version that is no longer kept, and Unavailable only where the collection has to be asked.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._head > after, patience)
            if 0 <= self._head < after <= self._highest:
                raise Expired(f"resourceVersion: {after} was forgotten by the storage; list again without it")
            if self._head <= after:
                return Changes([], after)
            if after >= self._floor:
                return Changes(self._newer(after), self._head)
        return self._collection.changes(after, BATCH)

    def _newer(self, after: int) -> list[Change]:
        found: list[Change] = []
        for change in reversed(self._ring):
            if change.version <= after:
                break
            found.append(change)
        return found[::-1]

    def _run(self) -> None:
        pause, failing = 0.0, False
        while self._is_wanted():
            try:
                pause = 0.0 if self._ask() else self._seconds
            except Exception as error:  # noqa: BLE001 - whatever it is, watches go on
                pause = min(_MAX_PAUSE_SECONDS, max(self._seconds, pause * 2))
                self._failed()
                if not failing:
                    _log.warning("no changes: %s", error, exc_info=_unexpected(error))
                failing = True
            else:
                if failing:
                    _log.info("changes come again")
                failing = False
            time.sleep(pause)

    def _is_wanted(self) -> bool:
        """The thread ends where not; what comes until the next one is for each watch to read itself."""
        with self._changed:
            if self._watches:
                return True
            self._forget()
            self._thread = None
            return False

    def _forget(self) -> None:
        self._ring.clear()
        self._floor = self._head = -1

    def _ask(self) -> bool:
        """One question; whether there may be more to ask at once."""
        if self._head < 0:
            self._move([], self._collection.version())
        try:
            answer = self._collection.changes(self._head, BATCH)
        except Expired:
            with self._changed:
                self._forget()
            return False
        self._move(answer.changes, answer.version)
        return len(answer.changes) >= BATCH

    def _move(self, changes: list[Change], version: int) -> None:
        with self._changed:
            if self._head < 0:
                self._floor = version
            for change in changes:
                if len(self._ring) == self._ring.maxlen:
                    self._floor = self._ring[0].version
                self._ring.append(change)
            self._head = max(self._head, version)
            self._highest = max(self._highest, self._head)
            self._changed.notify_all()


def _unexpected(error: Exception) -> Exception | None:
    """What deserves its stack in the log."""
    return None if isinstance(error, StatusError) else error
