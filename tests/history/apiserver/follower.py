"""List and watch as client-go's reflector does: it resumes from the last version it was told, after a 410 it lists."""

from __future__ import annotations

import json
import threading
from collections import Counter

import urllib3


class Follower:
    """Follows a namespace through the aggregator in a thread; `seen` counts how often each name was told."""

    def __init__(self, plane, path, **parameters):
        self._plane, self._path, self._parameters = plane, path, parameters
        self._http = urllib3.PoolManager(**plane._http.connection_pool_kw, maxsize=2)
        self._over = threading.Event()
        self._response = None
        self.seen: Counter[str] = Counter()
        self.types: Counter[str] = Counter()
        self.watches = self.lists = 0
        self.version = ""
        self.following = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self):
        self._thread.start()
        assert self.following.wait(30)
        return self

    def leave(self):
        """Begin no other watch; the one that runs ends in time."""
        self._over.set()

    def __exit__(self, *_):
        self.leave()
        self._thread.join(15)
        self._http.clear()

    def _follow(self):
        while not self._over.is_set():
            try:
                if not self.version:
                    self._list()
                self.following.set()
                self._watch()
            except (urllib3.exceptions.HTTPError, OSError):
                self._over.wait(0.1)

    def _url(self, **parameters):
        query = "&".join(f"{key}={value}" for key, value in {**self._parameters, **parameters}.items())
        return f"{self._plane.server}{self._path}?{query}"

    def _list(self):
        answer = self._http.request("GET", self._url(limit=500), timeout=10, retries=False)
        if answer.status != 200:
            raise urllib3.exceptions.HTTPError(answer.data)
        self.lists += 1
        page = answer.json()
        self.seen.update(each["metadata"]["name"] for each in page["items"])
        while token := page["metadata"].get("continue"):
            url = self._url(limit=500, **{"continue": token})
            page = self._http.request("GET", url, timeout=10, retries=False).json()
            self.seen.update(each["metadata"]["name"] for each in page["items"])
        self.version = page["metadata"]["resourceVersion"]

    def _watch(self):
        url = self._url(watch=1, allowWatchBookmarks="true", timeoutSeconds=3, resourceVersion=self.version)
        answer = self._http.request("GET", url, timeout=10, retries=False, preload_content=False)
        self.watches += answer.status == 200
        rest = b""
        for piece in answer.stream(65536, decode_content=True) if answer.status == 200 else ():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self._note(json.loads(line))
            if self._over.is_set():
                break
        answer.close()

    def _note(self, event):
        self.types[event["type"]] += 1
        if event["type"] == "ERROR":
            self.version = ""
            return
        self.version = event["object"]["metadata"]["resourceVersion"]
        if event["type"] == "ADDED":
            self.seen[event["object"]["metadata"]["name"]] += 1
