"""Takes spans as they leave a process."""

from __future__ import annotations

import threading

from tests.authn.front import Scripted


class Collector(Scripted):
    """Takes OTLP spans as they come over the wire, protobuf and all."""

    def __init__(self):
        super().__init__()
        self.taken = b""
        self.lock = threading.Lock()

    def respond(self, handler, body):
        with self.lock:
            self.taken += body
        handler.answer(200)
