"""A TCP relay on loopback that can be shut: what is written waits until it is opened again."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self

from functions.dev.processes import LOOPBACK


class Valve:
    """A context; `port` leads to `target`, as long as it is open. `waiting` is set once something waits at it."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._open = threading.Event()
        self._open.set()
        self._listener = socket.create_server((LOOPBACK, 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.waiting = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.open()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def shut(self) -> None:
        """Let nothing more through towards the target."""
        self.waiting.clear()
        self._open.clear()

    def open(self) -> None:
        """Let everything through, what has waited first."""
        self._open.set()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._relay, args=(near,), daemon=True).start()

    def _relay(self, near: socket.socket) -> None:
        with near, suppress(OSError), socket.create_connection((LOOPBACK, self._target)) as far:
            back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
            back.start()
            self._pump(near, far, gated=True)
            back.join()

    def _pump(self, source: socket.socket, sink: socket.socket, *, gated: bool = False) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if gated and not self._open.is_set():
                    self.waiting.set()
                    self._open.wait()
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
