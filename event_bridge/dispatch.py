"""Threads that send: none at rest, as many as there is work for, at most the limit; and one that keeps the time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from event_bridge.backlog import Delivery
from event_bridge.bridge import Bridge

IDLE_SECONDS: Final = 5.0
"""A sender without work for so long ends: its stack and buffers are given back."""

_LONGEST_SLEEP: Final = 30.0


class Dispatcher:
    """Takes what is due out of the bridge and has it sent; `rest` is called when the last sender has ended."""

    def __init__(
        self, bridge: Bridge, send: Callable[[Delivery], None], rest: Callable[[], None], *, limit: int
    ) -> None:
        self._bridge = bridge
        self._send = send
        self._rest = rest
        self._limit = limit
        self._idle: list[threading.Lock] = []
        self._threads: set[threading.Thread] = set()
        self._waking = False
        self._alarm = 0.0
        self._bell = threading.Event()
        self._stopping = False
        bridge.stir = self._stir

    def start(self) -> None:
        """Begin to keep the time."""
        threading.Thread(target=self._keep_time, name="dispatcher", daemon=True).start()

    def _keep_time(self) -> None:
        """Wake senders when a backoff or a timer is over."""
        while not self._stopping:
            with self._bridge.lock:
                self._bell.clear()
                now = time.monotonic()
                opens_at = self._bridge.queue.opens_at() if self._bridge.may_send else None
                self._alarm = now + _LONGEST_SLEEP if opens_at is None else min(opens_at, now + _LONGEST_SLEEP)
                if opens_at is not None and opens_at <= now:
                    self._alarm = now + _LONGEST_SLEEP
                    self._wake()
            self._bell.wait(max(0.0, self._alarm - time.monotonic()))

    def stop(self, grace: float) -> None:
        """Take nothing more; wait up to `grace` seconds for what is in flight."""
        with self._bridge.lock:
            self._stopping = True
            for token in self._idle:
                token.release()
            self._idle.clear()
            threads = list(self._threads)
        self._bell.set()
        deadline = time.monotonic() + grace
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _stir(self) -> None:
        """Something changed in the bridge, whose lock is held."""
        if not self._bridge.may_send:
            return
        opens_at = self._bridge.queue.opens_at()
        if opens_at is None:
            return
        if opens_at <= time.monotonic():
            self._wake()
        elif opens_at < self._alarm:
            self._bell.set()

    def _wake(self) -> None:
        """Get one sender going; it gets the next one going if there is more to do."""
        if self._waking or self._stopping:
            return
        if self._idle:
            self._idle.pop().release()
        elif len(self._threads) < self._limit:
            thread = threading.Thread(target=self._work, name="sender", daemon=True)
            self._threads.add(thread)
            thread.start()
        else:
            return
        self._waking = True

    def _work(self) -> None:
        token = threading.Lock()
        token.acquire()
        try:
            while delivery := self._next(token):
                self._send(delivery)
        finally:
            with self._bridge.lock:
                self._threads.discard(threading.current_thread())
                if not self._threads:
                    self._rest()

    def _next(self, token: threading.Lock) -> Delivery | None:
        while True:
            with self._bridge.lock:
                self._waking = False
                delivery = None if self._stopping else self._bridge.take()
                if delivery:
                    self._stir()  # there may be work for one more
                    return delivery
                if self._stopping:
                    return None
                self._idle.append(token)
            token.acquire(timeout=IDLE_SECONDS)
            with self._bridge.lock:
                if token in self._idle:  # nobody woke us
                    self._idle.remove(token)
                    return None
