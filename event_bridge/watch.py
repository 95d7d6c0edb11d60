"""One watch: list a kind page by page, follow its changes, and start over whenever the API server says so.

Sources of the rules: Kubernetes API concepts ("Efficient detection of changes"); an ERROR event carries a Status in
band; a resourceVersion to resume from comes from the list, an event or a bookmark, never from anywhere else.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from contextlib import suppress
from typing import Any, Final

from event_bridge.backoff import Backoff
from event_bridge.bridge import Bridge, Scope
from event_bridge.figures import Figures
from event_bridge.listing import Page
from event_bridge.mapping import Decision
from event_bridge.pruning import Pruner
from event_bridge.settings import Settings
from functions.runtime.answers import TimedOut
from functions.runtime.kube import Api, Call, LineStream
from functions.webapp.contract import Cause
from functions.webapp.errors import ApiError, Expired, Forbidden, NotFound, Unavailable, from_status

PAGE: Final = 100
LIST_SECONDS: Final = 30.0
BACKOFF: Final = Backoff(0.5, 30.0)
HEALTHY_SECONDS: Final = 60.0
SHORT_SECONDS: Final = 1.0
"""A watch that ends sooner and says nothing is a failure, as in client-go; otherwise the two would chase each other."""

TIMEOUTS: Final = (240, 480)
"""The API server ends a watch after a random time in between, so that watches do not all end together."""

_SLACK_SECONDS: Final = 30.0
_log = logging.getLogger("event_bridge")


class Watch(threading.Thread):
    """Follows one kind, in one namespace or in all, until `stop`."""

    def __init__(self, scope: Scope, api: Api, bridge: Bridge, figures: Figures, settings: Settings) -> None:
        super().__init__(name=f"watch-{scope[0].plural}", daemon=True)
        self.resource, self.namespace = self.scope = scope
        self.failure = ""
        self._api, self._bridge, self._figures = api, bridge, figures
        self._pruner = Pruner(self.resource, bridge.cache.primary)
        self._idle_seconds, self._relist_seconds = settings.idle_seconds, settings.relist_seconds
        self._version = ""
        self._relist_at = 0.0
        self._heard = self._moved = time.monotonic()
        self._patience = LIST_SECONDS
        self._ending = threading.Event()
        self._stream: LineStream | None = None

    @property
    def is_well(self) -> bool:
        """The thread runs, and has moved within the time that it gave itself."""
        return self.is_alive() and time.monotonic() < self._moved + self._patience + _SLACK_SECONDS

    @property
    def silence(self) -> float:
        """Seconds since the API server last said something."""
        return time.monotonic() - self._heard

    def stop(self) -> None:
        """End soon."""
        self._ending.set()
        if self._stream:
            with suppress(ValueError, RuntimeError, OSError):  # it has just ended by itself
                self._stream.close()

    def run(self) -> None:
        """List and watch; after a failure wait and go on where it stopped."""
        failures = 0
        while not self._ending.is_set():
            began = time.monotonic()
            try:
                if not self._version:
                    self._list()
                reason = self._follow()
                failures = 0
            except (ApiError, ValueError, LookupError, TypeError) as found:
                error = (
                    found
                    if isinstance(found, ApiError)
                    else Unavailable(f"this is no answer of an API server: {found!r}")
                )
                failures = 1 if time.monotonic() - began > HEALTHY_SECONDS else failures + 1
                reason = self._failed(error)
                if not (isinstance(error, Expired) and failures == 1):
                    self._pause(max(error.retry_after or 0.0, BACKOFF.seconds(failures, random.random())))  # noqa: S311
            self._figures.restarted(self.resource.kind, reason)

    def _list(self) -> None:
        """Read everything. The first time it is announced as it is, later only what differs from what was known."""
        first = self.scope in self._bridge.unsynced
        seen, token, differences = set[str](), "", 0
        while True:
            self._expect(LIST_SECONDS)
            more = (("continue", token),) if token else ()
            page = Page(self._api.fetch(self._call(("limit", str(PAGE)), *more), timeout=LIST_SECONDS))
            for obj in page:
                new = self._pruner.prune(obj)
                seen.add(new.uid)
                if first:
                    self._bridge.listed(new)
                else:
                    differences += self._bridge.saw(new, "LIST", Cause.RELIST) in {Decision.QUEUED, Decision.STANDBY}
            self._hear()
            token = page.token
            if not token:
                break
        differences += self._bridge.swept(self.scope, seen)
        if self._relist_at:
            self._figures.repaired.inc(differences)
        self._version = page.version
        self._relist_at = time.monotonic() + self._relist_seconds * random.uniform(0.8, 1.2)  # noqa: S311

    def _follow(self) -> str:
        """Apply changes until the API server ends the watch, or a consistency relist is due; tells which."""
        left = self._relist_at - time.monotonic()
        if left <= 0:
            self._version = ""
            return "relist"
        seconds = min(random.randint(*TIMEOUTS), int(left) + 1)  # noqa: S311
        self._expect(self._idle_seconds)
        follow = ("watch", "1"), ("allowWatchBookmarks", "true"), ("resourceVersion", self._version)
        call = self._call(*follow, ("timeoutSeconds", str(seconds)))
        self._stream = self._api.stream(call, idle=self._idle_seconds)
        self._recovered()
        self._hear()
        began, silent = time.monotonic(), True
        try:
            for line in self._stream:
                self._apply(line)
                self._hear()
                silent = False
        finally:
            self._stream = None
        if silent and time.monotonic() - began < SHORT_SECONDS and not self._ending.is_set():
            raise Unavailable("the watch ended at once, without a word")
        return "ended"

    def _apply(self, line: bytes) -> None:
        event: dict[str, Any] = json.loads(line.decode())  # of bytes it would look for the encoding first
        kind, obj = event["type"], event["object"]
        match kind:
            case "ADDED" | "MODIFIED":
                self._bridge.saw(self._pruner.prune(obj), kind)
            case "DELETED":
                self._bridge.lost(self._pruner.prune(obj))
            case "BOOKMARK":
                pass
            case _:
                raise from_status(int(obj.get("code") or 0), obj)
        self._version = obj["metadata"]["resourceVersion"]

    def _failed(self, error: ApiError) -> str:
        """Remember and tell once what is wrong; a broken connection may resume, anything else lists again."""
        if isinstance(error, Expired):
            self._version, self._relist_at = "", 0.0
            return "expired"
        if error.code not in {0, 429} or not self._version:
            self._version, self._relist_at = "", 0.0
        where = f" in namespace {self.namespace}" if self.namespace else ""
        what = f"{self.resource.plural}.{self.resource.version}.{self.resource.group}".rstrip(".")
        match error:
            case NotFound():
                reason, told = "not_found", f"{what} is not served here: install its CRD"
            case Forbidden():
                reason, told = "forbidden", f"list and watch of {what}{where} are not allowed: grant them"
            case _:
                silent = isinstance(error.__cause__, TimedOut)
                reason = "silent" if silent else "unavailable" if error.code or not self._version else "broken"
                told = f"list and watch of {what}{where} fail"
        if told != self.failure and not self._ending.is_set():
            _log.warning(told, extra={"fields": {"error": str(error)[:300]}})
        self.failure = told
        return reason

    def _recovered(self) -> None:
        if self.failure:
            _log.warning("%s.%s is watched again", self.resource.plural, self.resource.version)
            self.failure = ""

    def _pause(self, seconds: float) -> None:
        self._expect(seconds)
        self._ending.wait(seconds)

    def _expect(self, seconds: float) -> None:
        self._moved, self._patience = time.monotonic(), seconds

    def _hear(self) -> None:
        self._heard = self._moved = time.monotonic()

    def _call(self, *params: tuple[str, str]) -> Call:
        return Call("GET", self.resource, self.namespace, params=params, step="watch")
