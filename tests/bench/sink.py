"""A place for CloudEvents in a process of its own: notes each POST, and answers, refuses or hangs as it is told."""

from __future__ import annotations

import multiprocessing
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from typing import Self

from functions.dev.processes import LOOPBACK, free_port

_NAME = re.compile(rb"app-\d{5}")
_NUMBER = re.compile(rb'"SEQ","value":"(\d+)"')
_HANG_POLL_SECONDS = 0.02
_NOBODY = -1


class Mood(IntEnum):
    """What the sink answers; HANG holds requests open until the mood changes."""

    ACCEPT = 202
    FAIL = 500
    BUSY = 503
    HANG = 0


@dataclass(frozen=True, slots=True)
class Post:
    """One request: when it came (monotonic), which WebApp and change it tells of, and what it was answered."""

    when: float
    name: str
    number: int | None
    answer: int
    id: str
    size: int

    def covers(self, name: str, number: int, sent: float) -> bool:
        """Whether it tells of a change, or of a later state of the same object."""
        late_enough = self.number >= number if self.number is not None else self.when >= sent
        return self.name == name and 200 <= self.answer < 300 and late_enough


class Sink:
    """A context; its state outlives every source that sends to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.port = free_port()
        self.url = f"http://{LOOPBACK}:{self.port}/"
        self._mood = context.Value("i", Mood.ACCEPT)
        self._held = context.Value("i", _NOBODY)
        self._pipe, far = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.port, self._mood, self._held, far), daemon=True)
        self._posts: list[Post] = []

    def __enter__(self) -> Self:
        self._process.start()
        self._pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.terminate()
        self._process.join()

    def mood(self, mood: Mood) -> None:
        """Answer like this from now on."""
        self._mood.value = mood

    @contextmanager
    def holding(self, number: int) -> Iterator[None]:
        """Keep the requests about the WebApp of that number open for a while, and answer all others."""
        self._held.value = number
        try:
            yield
        finally:
            self._held.value = _NOBODY

    def posts(self, start: int = 0) -> list[Post]:
        """Every answered request from number `start` on."""
        self._pipe.send(len(self._posts))
        self._posts += self._pipe.recv()
        return self._posts[start:]


def _serve(port: int, mood: Synchronized[int], held: Synchronized[int], pipe: Connection) -> None:
    posts: list[Post] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            now = time.monotonic()
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            name = _NAME.search(body) or _NAME.search(self.headers.get("ce-subject", "").encode())
            number = _NUMBER.search(body)
            told = name.group().decode() if name else ""
            while mood.value == Mood.HANG or told == f"app-{held.value:05d}":
                time.sleep(_HANG_POLL_SECONDS)
            answer = mood.value
            event_id = self.headers.get("ce-id", "")
            posts.append(Post(now, told, int(number[1]) if number else None, answer, event_id, len(body)))
            self.send_response_only(answer)
            self.send_header("content-length", "0")
            self.end_headers()

    server = ThreadingHTTPServer((LOOPBACK, port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pipe.send("serving")
    while True:
        try:
            start = pipe.recv()
        except EOFError:
            return
        pipe.send(posts[start:])
