"""A collection over a source that can only be read whole, such as somebody else's table of moderate size."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from functions.aggregation.collection import Change, Changes, ChangeType, Object, Page, Selection
from functions.aggregation.status import Expired

Key = tuple[str, str]


class Snapshot:
    """Reads the source whenever it is asked, and learns what changed by comparing.

    `read` gives all objects, without `resourceVersion`; it raises `status.Unavailable` where it cannot. Versions are
    the microseconds at which a change was seen: they grow across restarts, but are this process's alone, so one replica
    serves at a time. The last `kept` changes are remembered.
    """

    def __init__(
        self,
        read: Callable[[], Iterable[Object]],
        clock: Callable[[], int] = time.time_ns,
        *,
        kept: int = 10_000,
    ) -> None:
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._objects: dict[Key, Object] = {}
        self._history: deque[Change] = deque(maxlen=kept)
        self._version = 0
        self._horizon = 0

    def get(self, namespace: str, name: str) -> Object | None:
        """As `Collection`."""
        with self._lock:
            self._compare()
            return self._objects.get((namespace, name))

    def list(self, selection: Selection, limit: int, at: int = 0, after: str = "") -> Page:
        """As `Collection`, in the order of namespaces and names."""
        with self._lock:
            self._compare()
            version = at or self._version
            objects = self._state(version)
        found = sorted("/".join(key) for key, obj in objects.items() if selection.matches(obj))
        rest = [place for place in found if place > after]
        shown = rest[:limit] if limit else rest
        left = len(rest) - len(shown)
        page = [objects[_place(place)] for place in shown]
        return Page(page, version, shown[-1] if left else "", left)

    def changes(self, after: int, limit: int) -> Changes:
        """As `Collection`."""
        with self._lock:
            self._compare()
            self._check(after)
            found = [change for change in self._history if change.version > after][:limit]
            return Changes(found, found[-1].version if len(found) == limit else self._version)

    def version(self) -> int:
        """As `Collection`."""
        with self._lock:
            self._compare()
            return self._version

    def _check(self, version: int) -> None:
        if version < self._horizon:
            raise Expired(f"resourceVersion: {version} is no longer kept; list again without it")

    def _state(self, version: int) -> dict[Key, Object]:
        """The objects as they were, by taking back what came later."""
        self._check(version)
        objects = dict(self._objects)
        for change in reversed(self._history):
            if change.version <= version:
                break
            key = _key(change.object)
            if change.previous is None:
                del objects[key]
            else:
                objects[key] = change.previous
        return objects

    def _compare(self) -> None:
        """Raises Unavailable before anything is changed."""
        now = {_key(obj): obj for obj in self._read()}
        if not self._version:
            self._version = self._horizon = self._clock() // 1000
            self._objects = {key: _versioned(obj, self._version) for key, obj in now.items()}
            return
        for key in sorted(now.keys() | self._objects.keys()):
            self._note(key, now.get(key), self._objects.get(key))

    def _note(self, key: Key, obj: Object | None, before: Object | None) -> None:
        if obj is not None and before is not None and _versioned(obj, before["metadata"]["resourceVersion"]) == before:
            return
        self._version = max(self._version + 1, self._clock() // 1000)
        if len(self._history) == self._history.maxlen:
            self._horizon = self._history[0].version
        if obj is None and before is not None:
            del self._objects[key]
            gone = _versioned(before, self._version)
            self._history.append(Change(ChangeType.DELETED, self._version, gone, before))
        elif obj is not None:
            self._objects[key] = _versioned(obj, self._version)
            kind = ChangeType.MODIFIED if before else ChangeType.ADDED
            self._history.append(Change(kind, self._version, self._objects[key], before))


def _key(obj: Object) -> Key:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def _place(text: str) -> Key:
    namespace, _, name = text.partition("/")
    return namespace, name


def _versioned(obj: Object, version: object) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
