"""Books in memory: a collection that tests write to, break and count the questions of."""

import itertools
import threading

from functions.aggregation.collection import Change, Changes, ChangeType, Page
from functions.aggregation.status import Expired, Unavailable
from tests.aggregation.books import BOOKS


def book(name, version, author="Jane Austen", **labels):
    metadata = {"namespace": "novels", "name": name, "resourceVersion": str(version), "labels": labels}
    spec = {"title": name.title(), "author": author}
    return {"apiVersion": BOOKS.api_version, "kind": "Book", "metadata": metadata, "spec": spec}


class Shelf:
    """Versions count from 1; `forget` moves the horizon, `broken` makes every question fail."""

    def __init__(self):
        self.log = []
        self.horizon = 0
        self.broken = False
        self.asked = []
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def add(self, name, **labels):
        with self._lock:
            version = next(self._numbers)
            self.log.append(Change(ChangeType.ADDED, version, book(name, version, **labels)))
        return version

    def remove(self, name):
        with self._lock:
            version = next(self._numbers)
            self.log.append(Change(ChangeType.DELETED, version, book(name, version)))
        return version

    def forget(self, version):
        self.horizon = version

    def get(self, namespace, name):
        self._ask("get")
        return self._state(self._newest()).get(name) if namespace == "novels" else None

    def list(self, selection, limit, at=0, after=""):
        self._ask("list")
        at = at or self._newest()
        self._check(at)
        state = self._state(at)
        found = [state[name] for name in sorted(state) if name > after and selection.matches(state[name])]
        shown = found[:limit] if limit else found
        more = shown[-1]["metadata"]["name"] if len(found) > len(shown) else ""
        return Page(shown, at, more)

    def changes(self, after, limit):
        self._ask("changes")
        self._check(after)
        found = [change for change in self.log if change.version > after][:limit]
        return Changes(found, found[-1].version if len(found) == limit else self._newest())

    def version(self):
        self._ask("version")
        return self._newest()

    def _ask(self, what):
        self.asked.append(what)
        if self.broken:
            raise Unavailable("the shelf is away")

    def _check(self, version):
        if version < self.horizon:
            raise Expired("the version is no longer kept")

    def _newest(self):
        return self.log[-1].version if self.log else 0

    def _state(self, version):
        state = {}
        for change in self.log:
            if change.version <= version:
                state[change.object["metadata"]["name"]] = change.object
                if change.type is ChangeType.DELETED:
                    del state[change.object["metadata"]["name"]]
        return state
