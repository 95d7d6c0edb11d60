"""The end that the user sends: Ctrl-C, or SIGTERM."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

POLL_SECONDS = 0.1


@contextmanager
def interruptible() -> Iterator[None]:
    """In here SIGTERM is like Ctrl-C: it unwinds every context on its way, so that nothing is left running."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def await_end(until: Callable[[], bool] = lambda: False) -> None:
    """Return when the user sends the end, or once `until()` holds, which is asked ten times a second."""
    with suppress(KeyboardInterrupt):
        while not until():
            time.sleep(POLL_SECONDS)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
