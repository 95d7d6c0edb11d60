"""One watch: the objects that are there, if asked for, then every change as it comes, a JSON text on each line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain

from functions.aggregation.collection import ChangeType, Collection, Object, Page
from functions.aggregation.feed import BATCH, Feed
from functions.aggregation.forms import Renderer
from functions.aggregation.query import WatchQuery
from functions.aggregation.selected import through
from functions.aggregation.status import Expired, StatusError, TooLargeResourceVersion, Unavailable

BOOKMARK_SECONDS = 30.0
PATIENCE_SECONDS = 1.0
"""How long a watch hears nothing before it looks whether it is over."""

_COMING_SECONDS = 3.0


@dataclass
class Watch:
    """What one caller watches; it ends after `seconds`, or once `over()` says so, with a bookmark if those are wanted.

    `query.version` is where it starts; the client resumes from the last version that it was told. Only the first of its
    tables has column heads, as kube-apiserver has it.
    """

    collection: Collection
    feed: Feed
    query: WatchQuery
    renderer: Renderer
    seconds: float
    over: Callable[[], bool]
    _heads: bool = field(default=True, init=False)

    def lines(self) -> Iterator[bytes]:
        """Pieces of the answer, each of whole lines; the first is empty, with which gunicorn sends the header.

        What can go wrong at once is raised by this call.
        """
        version = self.query.version
        if self.query.initial:
            page = self.collection.list(self.query.selection, BATCH)
            if page.version < version:
                raise too_large(version)
            return chain((b"",), self._all(page))
        if not version:
            version = self.collection.version()
        elif not self.feed.reaches(version, _COMING_SECONDS):
            raise too_large(version)
        return chain((b"",), self._changes(version))

    def _all(self, page: Page) -> Iterator[bytes]:
        try:
            yield from self._objects(page)
        except (Expired, Unavailable) as error:
            yield _line("ERROR", error.document())
            return
        if self.query.initial_end:
            yield self._bookmark(page.version, initial_end=True)
        yield from self._changes(page.version)

    def _objects(self, page: Page) -> Iterator[bytes]:
        while True:
            if page.objects:
                yield b"".join(self._event(ChangeType.ADDED, obj) for obj in page.objects)
            if not page.more:
                return
            page = self.collection.list(self.query.selection, BATCH, page.version, page.more)

    def _changes(self, version: int) -> Iterator[bytes]:
        ends = time.monotonic() + self.seconds
        bookmark = time.monotonic() + BOOKMARK_SECONDS
        while (left := ends - time.monotonic()) > 0 and not self.over():
            try:
                found = self.feed.since(version, min(left, PATIENCE_SECONDS))
            except Unavailable:
                time.sleep(min(left, PATIENCE_SECONDS))
                continue
            except StatusError as error:
                yield _line("ERROR", error.document())
                return
            version = found.version
            told = [change for each in found.changes if (change := through(each, self.query.selection))]
            if told:
                yield b"".join(self._event(change.type, change.object) for change in told)
            if self.query.bookmarks and time.monotonic() > bookmark:
                bookmark = time.monotonic() + BOOKMARK_SECONDS
                yield self._bookmark(version)
        if self.query.bookmarks:
            yield self._bookmark(version)

    def _event(self, kind: ChangeType, obj: Object) -> bytes:
        line = _line(kind, self.renderer.one(obj, datetime.now(UTC), heads=self._heads))
        self._heads = False
        return line

    def _bookmark(self, version: int, *, initial_end: bool = False) -> bytes:
        return _line("BOOKMARK", self.renderer.bookmark(version, initial_end=initial_end))


def too_large(version: int) -> TooLargeResourceVersion:
    """The error for a version that has not been reached."""
    return TooLargeResourceVersion(f"resourceVersion: {version} is still to come; list again without it")


def _line(kind: str, obj: Object) -> bytes:
    return json.dumps({"type": kind, "object": obj}, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
