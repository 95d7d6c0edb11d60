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
    """In here SIGTERM is like Ctrl-C: it unwinds every context on its way, so that nothing is left running.

    Ctrl-C itself is heard also where a shell started the process in the background, which has it ignored.
    """
    before = {number: signal.signal(number, _interrupt) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def await_end(until: Callable[[], bool] = lambda: False) -> None:
    """Return when the user sends the end, or once `until()` holds, which is asked ten times a second."""
    with suppress(KeyboardInterrupt):
        while not until():
            time.sleep(POLL_SECONDS)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
