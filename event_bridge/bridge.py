"""The state of one bridge behind one lock: what it knows, what it still has to say, and whether it may speak."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from random import random
from typing import Final

from event_bridge import mapping
from event_bridge.answer import Answer, Verdict
from event_bridge.backlog import Delivery, News, Write, is_newer
from event_bridge.cache import Cache, Entry
from event_bridge.figures import Figures
from event_bridge.mapping import Decision
from event_bridge.pruning import Pruned
from event_bridge.queue import Queue
from functions.webapp.contract import Cause, Change, Notice
from functions.webapp.resources import Resource

Scope = tuple[Resource, str]
"""What one watch covers: a kind, in one namespace or in all ("")."""

SLOW_SHARE: Final = 4
"""At most one in so many requests in flight announces a sync: room for changes is always left."""


class Bridge:
    """Watches put in, senders take out."""

    def __init__(self, scopes: list[Scope], *, concurrency: int, figures: Figures) -> None:
        self.lock = threading.Lock()
        self.stir: Callable[[], None] = lambda: None
        primary = scopes[0][0]
        self.cache = Cache(primary, dict.fromkeys(scope[0] for scope in scopes))
        self.queue = Queue(slow_limit=max(1, concurrency // SLOW_SHARE))
        self.leading = False
        self.unsynced = set(scopes)
        self._figures = figures

    @property
    def may_send(self) -> bool:
        """Everything was listed, so that snapshots are whole, and nobody else sends."""
        return self.leading and not self.unsynced

    def saw(self, new: Pruned, event: str, cause: Cause = Cause.WATCH) -> Decision:
        """A watch, or a list that is not the first, shows an object that exists."""
        with self.lock:
            decision, notices = mapping.observed(new, self.cache, cause)
            if decision in {Decision.FOREIGN, Decision.SAME_VERSION}:
                pass
            elif new.owner or new.resource == self.cache.primary:
                self.cache.put(new)
                if self.queue.saw(str(new.key), (new.uid, new.version), time.monotonic()):
                    decision, notices = Decision.ECHO, ()
            else:
                self.cache.drop(new.resource, new.uid)
            return self._note((decision, notices), new.resource, event, new.stamp)

    def lost(self, new: Pruned) -> Decision:
        """A watch shows an object as it was when it was removed."""
        with self.lock:
            old = self.cache.get(new.resource, new.uid)
            mapped = mapping.gone(mapping.reference(new), old, self.cache, Cause.WATCH)
            self.cache.drop(new.resource, new.uid)
            return self._note(mapped, new.resource, "DELETED", new.stamp)

    def listed(self, new: Pruned) -> None:
        """The first list of a scope shows an object: WebApps are announced as they are, children go with them."""
        with self.lock:
            if not new.owner and new.resource != self.cache.primary:
                self._figures.seen(new.resource.kind, "LIST", Decision.FOREIGN)
                return
            self.cache.put(new)
            webapp = self.cache.webapp(new.uid)
            notices = (mapping.sync(webapp, Cause.SYNC),) if webapp else ()
            self._note((Decision.QUEUED if notices else Decision.LISTED, notices), new.resource, "LIST", new.stamp)

    def swept(self, scope: Scope, seen: set[str]) -> int:
        """A list is over: what it did not show is gone. Tells how many objects that are."""
        resource, namespace = scope
        with self.lock:
            missing = self.cache.uids(resource, namespace) - seen
            for uid in missing:
                old = self.cache.get(resource, uid)
                if old:
                    mapped = mapping.gone(mapping.reference(old), old, self.cache, Cause.RELIST)
                    self.cache.drop(resource, uid)
                    self._note(mapped, resource, "LIST", "")
            self.unsynced.discard(scope)
            self.stir()
        return len(missing)

    def announce(self, cause: Cause, tick: str = "") -> None:
        """Say of every WebApp how it is: on taking the lead, and every few hours."""
        with self.lock:
            if self.leading:
                for webapp in self.cache.webapps():
                    self._offer(mapping.sync(webapp, cause, tick), "")
                self.stir()

    def lead(self, leading: bool) -> None:  # noqa: FBT001 - the one fact that it is told
        """Start or stop sending. Whoever starts cannot know what was left undone before, and announces everything."""
        with self.lock:
            if self.leading == leading:
                return
            self.leading = leading
            if not leading:
                self.queue.clear()
        if leading:
            self.announce(Cause.SYNC)

    def resend(self, key: str) -> int:
        """Try what is parked again, for one WebApp or for all ("")."""
        with self.lock:
            count = self.queue.resend(key, time.monotonic())
            self.stir()
        return count

    def take(self) -> Delivery | None:
        """The next notice to send now; the caller holds the lock."""
        return self.queue.take(time.monotonic()) if self.may_send else None

    def snapshot(self, uid: str) -> tuple[bytes | None, list[bytes]]:
        """The newest state of a WebApp and of what it owns."""
        with self.lock:
            return self.cache.snapshot(uid)

    def land(self, delivery: Delivery, answer: Answer) -> None:
        """Act on the answer of the sink."""
        now = time.monotonic()
        with self.lock:
            unseen = {write for write in answer.wrote if not self._has_seen(write)}
            match answer.verdict:
                case Verdict.ACKNOWLEDGED:
                    again = self._again(delivery, now, answer.requeue_after)
                    self.queue.done(delivery, now, answer, unseen=unseen, again=again)
                case Verdict.AGAIN:
                    self.queue.failed(delivery, now, answer, random=random(), unseen=unseen)  # noqa: S311 - jitter
                case Verdict.POISON:
                    self.queue.park(delivery, now)
            self.stir()

    def withdraw(self, delivery: Delivery) -> None:
        """It was not sent: this process may not send just now."""
        with self.lock:
            self.queue.withdraw(delivery, time.monotonic())

    def _note(self, mapped: mapping.Mapped, resource: Resource, event: str, stamp: str) -> Decision:
        decision, notices = mapped
        if notices and not self.leading:
            decision = Decision.STANDBY
        for notice in notices if self.leading else ():
            self._offer(notice, stamp)
        if notices:
            self.stir()
        self._figures.seen(resource.kind, event, decision)
        return decision

    def _offer(self, notice: Notice, stamp: str) -> None:
        if self.queue.offer(News(notice, time.monotonic(), stamp)):
            self._figures.coalesced.inc()

    def _has_seen(self, write: Write) -> bool:
        version = self.cache.version(write[0])
        return version == write[1] or is_newer(version, write[1])

    def _again(self, delivery: Delivery, now: float, seconds: float) -> News | None:
        webapp: Entry | None = self.cache.webapp(delivery.news.notice.webapp.uid)
        if not seconds or webapp is None or delivery.news.notice.change is Change.DELETED:
            return None
        tick = f"requeue-{int(time.time() + seconds)}"
        return News(mapping.sync(webapp, Cause.REQUEUE, tick), now + seconds)
