"""A TCP proxy in front of one server, which can fall silent without closing anything, as a lost route does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

CHUNK = 65536


class Link:
    """One connection and the one behind it."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self._ends = near, far
        self._open = threading.Event()
        self._open.set()
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def freeze(self) -> None:
        """Pass nothing on, in neither direction, and keep both connections open."""
        self._open.clear()

    def cut(self) -> None:
        """End both connections."""
        self._open.set()
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(CHUNK):
                self._open.wait()
                target.sendall(chunk)
            target.shutdown(socket.SHUT_WR)


class TcpProxy:
    """Listens on a loopback port; `links` are the connections that came so far."""

    def __init__(self, host: str, port: int) -> None:
        self._server = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.links: list[Link] = []
        self.refusing = False
        self._lost = False
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # closing alone would leave a thread in accept, which takes one more
        self._thread.join()
        self._listener.close()
        self.cut()

    def freeze(self) -> None:
        """Silence every connection there is; new ones work."""
        for link in self.links:
            link.freeze()

    def lose(self) -> None:
        """Silence every connection there is and every one to come, as a partition of the network does."""
        self._lost = True
        self.freeze()

    def cut(self) -> None:
        """End every connection there is."""
        for link in self.links:
            link.cut()
        self.links.clear()

    @contextmanager
    def refused(self) -> Iterator[None]:
        """Nothing gets through: connections end, new ones at once."""
        self.refusing = True
        self.cut()
        yield
        self.refusing = False

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self.refusing:
                    near.close()
                else:
                    self.links.append(Link(near, socket.create_connection(self._server)))
                    if self._lost:
                        self.links[-1].freeze()
