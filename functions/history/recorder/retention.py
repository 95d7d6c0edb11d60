"""Retention in the background of the recorder."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable

from functions.aggregation.status import Unavailable
from functions.history.pruning import Pruned
from functions.history.recorder.measures import DELETED, REMOVED, Measures

FIRST_SECONDS = 30.0
"""By then a recorder that came up for one event is past its burst."""

_log = logging.getLogger(__name__)


class Retention:
    """Calls `prune` soon after the start and then every `seconds`, give or take a tenth, until `close`."""

    def __init__(self, prune: Callable[[], Pruned], measures: Measures, seconds: float) -> None:
        self._prune, self._measures, self._seconds = prune, measures, seconds
        self._stop = threading.Event()
        threading.Thread(target=self._run, name="retention", daemon=True).start()

    def close(self) -> None:
        """No more; what is under way ends by itself."""
        self._stop.set()

    def _run(self) -> None:
        pause = min(FIRST_SECONDS, self._seconds)
        while not self._stop.wait(pause * random.uniform(0.9, 1.1)):  # noqa: S311 - no secret
            pause = self._seconds
            try:
                done = self._prune()
            except Unavailable as error:
                _log.warning("not pruned", extra={"fields": {"detail": str(error)}})
            except Exception:  # noqa: BLE001 - logged; the next time may go better
                _log.exception("not pruned")
            else:
                self._measures.prune(DELETED, done.deleted)
                self._measures.prune(REMOVED, done.removed)
                if done != Pruned():
                    _log.info("pruned", extra={"fields": {"deleted": done.deleted, "removed": done.removed}})
