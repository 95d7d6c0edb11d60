"""What functions reply goes on to a history sink, in the background: no delivery ever waits for it.

One thread sends one event after the other and keeps at it until the sink has taken it. What waits is bounded in events
and in bytes; when it is full, the oldest goes, for the newest is what people look for.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from typing import Final

from event_bridge.answer import Answer, Verdict
from event_bridge.backoff import Backoff
from event_bridge.figures import Figures
from event_bridge.reply import Reply
from event_bridge.sink import Sink

BACKOFF: Final = Backoff(0.5, 30.0)
IDLE_SECONDS: Final = 5.0
"""After so long without an event the connection is given back."""

_log = logging.getLogger("event_bridge")


class History:
    """The queue and its thread. It asks nobody for leave to send: who records takes an event twice as once."""

    def __init__(self, sink: Sink, figures: Figures, *, most_events: int, most_bytes: int) -> None:
        self._sink, self._figures = sink, figures
        self._most_events, self._most_bytes = most_events, most_bytes
        self._waiting: deque[Reply] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._ending = False
        self._dropped = 0
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)

    @property
    def depth(self) -> int:
        """How many events wait."""
        return len(self._waiting)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def offer(self, reply: Reply) -> None:
        """Take an event over; returns at once."""
        with self._changed:
            self._waiting.append(reply)
            self._bytes += reply.size
            self._make_room()
            self._changed.notify()

    def stop(self, grace: float) -> None:
        """Send what waits, for at most so many seconds; what is left then is lost, and the log says how much."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        self._thread.join(grace)
        if self._thread.is_alive():
            told = "the history sink did not take everything in time"
            _log.warning(told, extra={"fields": {"lost": self.depth + 1, "sink": self._sink.url}})

    def _run(self) -> None:
        failures = 0
        while (reply := self._take()) is not None:
            answer = self._post(reply)
            self._figures.recorded(answer.label)
            match answer.verdict:
                case Verdict.ACKNOWLEDGED:
                    failures = 0
                    self._tell_recovery()
                case Verdict.POISON:
                    failures = 0
                    self._drop("refused", answer)
                case Verdict.AGAIN:
                    failures += 1
                    self._put_back(reply)
                    self._pause(max(answer.retry_after, BACKOFF.seconds(failures, random.random())))  # noqa: S311

    def _post(self, reply: Reply) -> Answer:
        try:
            return self._sink.post(reply.headers, reply.body)
        except Exception:  # noqa: BLE001 - a defect must not end the thread
            _log.exception("an event could not be sent to the history sink")
            return Answer(Verdict.POISON, error_type="broken")

    def _take(self) -> Reply | None:
        """The oldest event that waits; None at the end."""
        patience: float | None = IDLE_SECONDS
        with self._changed:
            while not self._waiting:
                if self._ending:
                    return None
                if not self._changed.wait(patience):
                    self._sink.rest()
                    patience = None
            reply = self._waiting.popleft()
            self._bytes -= reply.size
            return reply

    def _put_back(self, reply: Reply) -> None:
        with self._changed:
            self._waiting.appendleft(reply)
            self._bytes += reply.size
            self._make_room()

    def _pause(self, seconds: float) -> None:
        """Wait; the end of the process cuts it short, once."""
        deadline = time.monotonic() + seconds
        with self._changed:
            hurried = self._ending
            while (left := deadline - time.monotonic()) > 0 and self._ending == hurried:
                self._changed.wait(left)

    def _make_room(self) -> None:
        """Drop the oldest while there is too much; the lock is held."""
        while len(self._waiting) > self._most_events or (self._bytes > self._most_bytes and len(self._waiting) > 1):
            self._bytes -= self._waiting.popleft().size
            self._drop("overflow")

    def _drop(self, reason: str, answer: Answer | None = None) -> None:
        """Count it, and say so once until the sink takes events again."""
        self._figures.unrecorded(reason)
        with self._changed:
            self._dropped += 1
            first = self._dropped == 1
        if first:
            told = {"reason": reason, "sink": self._sink.url, "waiting": self.depth}
            more = {"status": answer.status, "answer": answer.text[:200]} if answer else {}
            _log.warning("reconciles are missing from the history", extra={"fields": {**told, **more}})

    def _tell_recovery(self) -> None:
        with self._changed:
            missing, self._dropped = self._dropped, 0
        if missing:
            _log.info("the history goes on", extra={"fields": {"missing": missing}})
