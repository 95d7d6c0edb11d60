"""Pure: who is sent next. Per WebApp the latest change wins, one request is in flight, nothing is dropped unanswered.

Real changes go before sync and resync, by as much as PATIENCE_SECONDS; so those are never starved. The caller holds a
lock, and brings clock and chance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush
from typing import Final

from event_bridge.answer import Answer
from event_bridge.backlog import Backlog, Delivery, News, Write
from event_bridge.backoff import Backoff
from event_bridge.outage import Outage
from functions.webapp.contract import Cause, Change

BACKOFF: Final = Backoff(0.2, 60.0)
PATIENCE_SECONDS: Final = 10.0
REST_SECONDS: Final = 1.0
"""How long a WebApp waits until the watch shows what its last run wrote: the next snapshot has it (KEP-5647)."""

EXPECT_SECONDS: Final = 60.0
WITHDRAWN_SECONDS: Final = 0.5
Writes = AbstractSet[Write]
_NONE: Final[Writes] = frozenset()
_Place = tuple[float, int, str]


class Queue:
    """Everything that is still to be announced; at most `slow_limit` syncs and resyncs are in flight."""

    def __init__(self, *, slow_limit: int) -> None:
        self.outage = Outage()
        self.in_flight = 0
        self._slow_limit = slow_limit
        self._slow = 0
        self._epoch = 0
        self._ticket = 0
        self._backlogs: dict[str, Backlog] = {}
        self._ready: tuple[list[_Place], list[_Place]] = ([], [])  # urgent, slow
        self._later: list[_Place] = []
        self._expiries: deque[tuple[float, str]] = deque()

    def offer(self, news: News) -> bool:
        """Take in a change; tells whether it joined one that waits already."""
        key = str(news.notice.webapp)
        backlog = self._backlogs.get(key)
        if backlog is None:
            backlog = self._backlogs[key] = Backlog()
        if backlog.sent:
            joined = bool(backlog.dirt or backlog.news)
            backlog.soil(news)
            return joined
        before = backlog.news is not None, backlog.urgent, backlog.opens_at
        waited = backlog.news is not None and backlog.news.notice.cause is not Cause.REQUEUE
        backlog.parked = None
        backlog.merge(news)
        if not waited or (news.is_real and news.notice.object.uid == news.notice.webapp.uid):
            backlog.due = 0.0  # it was a timer, or the backoff of an older state of the WebApp itself
        if before != (True, backlog.urgent, backlog.opens_at):
            self._place(key, backlog, news.seen)
        return waited

    def saw(self, key: str, write: Write, now: float) -> bool:
        """The watch shows one version of one object; tells whether it is an echo, which needs no event."""
        backlog = self._backlogs.get(key)
        if backlog is None or not backlog.expected or not backlog.saw(write):
            return False
        self._settle(key, backlog, now)
        return True

    def take(self, now: float) -> Delivery | None:
        """The next notice to send, if any may be sent now."""
        self._mature(now)
        if self.outage.opens_at() > now:
            return None
        ready = self._choose()
        if ready is None:
            return None
        key = heappop(ready)[2]
        backlog = self._backlogs[key]
        assert backlog.news is not None  # noqa: S101 - a valid place has news
        delivery = Delivery(
            key=key,
            news=backlog.news,
            count=backlog.count,
            since=backlog.since,
            tries=backlog.tries,
            urgent=backlog.urgent,
            probe=self.outage.started(now),
            epoch=self._epoch,
        )
        backlog.sent, backlog.news, backlog.count, backlog.ticket = delivery, None, 0, 0
        self.in_flight += 1
        self._slow += not delivery.urgent
        return delivery

    def opens_at(self) -> float | None:
        """When `take` is worth calling again (a past moment means now); None while only an answer or news can help."""
        if self._choose() is not None:
            return self.outage.opens_at()
        return max(self._later[0][0], self.outage.opens_at()) if self._later else None

    def done(
        self, delivery: Delivery, now: float, answer: Answer, *, unseen: Writes = _NONE, again: News | None = None
    ) -> None:
        """The sink has it. `unseen`: writes that the watch has not shown; `again` is due when it says it was seen."""
        self._answered()
        backlog = self._land(delivery, now, answer.wrote, unseen, keep=False)
        backlog.tries, backlog.due, backlog.floor, backlog.sink_failed = 0, 0.0, 0.0, False
        if again and not backlog.news and delivery.news.notice.change is not Change.DELETED:
            backlog.merge(again)
            backlog.due = again.seen
        self._settle(delivery.key, backlog, now)

    def failed(self, delivery: Delivery, now: float, answer: Answer, *, random: float, unseen: Writes = _NONE) -> None:
        """It must be sent again, after a backoff and not before the sink wants it; `random` is in [0, 1)."""
        if answer.sink:
            self.outage.failed(delivery.key, now, probe=delivery.probe, random=random)
        else:
            self._answered()
        backlog = self._land(delivery, now, answer.wrote, unseen, keep=delivery.epoch == self._epoch)
        backlog.tries += 1
        backlog.floor = now + answer.retry_after
        backlog.due = now + BACKOFF.seconds(backlog.tries, random)
        backlog.sink_failed = answer.sink
        self._settle(delivery.key, backlog, now)

    def park(self, delivery: Delivery, now: float) -> None:
        """The sink will never take it: it waits for the next change of the WebApp, or for `resend`."""
        self._answered()
        backlog = self._land(delivery, now, keep=False)
        backlog.tries, backlog.due, backlog.floor = 0, 0.0, 0.0
        if not backlog.news and delivery.epoch == self._epoch:
            backlog.parked = delivery.news
        self._settle(delivery.key, backlog, now)

    def withdraw(self, delivery: Delivery, now: float) -> None:
        """It was not sent after all, because this process must not send just now: it waits a moment more."""
        backlog = self._land(delivery, now, keep=delivery.epoch == self._epoch)
        backlog.due = now + WITHDRAWN_SECONDS
        self._settle(delivery.key, backlog, now)

    def resend(self, key: str, now: float) -> int:
        """Send what is parked for one WebApp, or for all ("") again; tells how many that are."""
        found = [each for each in self.parked() if key in {"", each}]
        for each in found:
            backlog = self._backlogs[each]
            backlog.news, backlog.parked, backlog.urgent, backlog.since = backlog.parked, None, True, now
            self._place(each, backlog, now)
        return len(found)

    def clear(self) -> None:
        """Forget what waits, because somebody else leads now; what is in flight still lands."""
        self._epoch += 1
        self._ready[0].clear()
        self._ready[1].clear()
        self._later.clear()
        self._expiries.clear()
        self._backlogs = {key: Backlog(sent=old.sent) for key, old in self._backlogs.items() if old.sent}

    def waiting(self) -> Iterator[Backlog]:
        """What waits to be sent, for the figures."""
        return (backlog for backlog in self._backlogs.values() if backlog.news)

    def parked(self) -> list[str]:
        """The WebApps whose last event no sink will take."""
        return [key for key, backlog in self._backlogs.items() if backlog.parked]

    def __len__(self) -> int:
        return len(self._backlogs)

    def _land(
        self, delivery: Delivery, now: float, wrote: Writes = _NONE, unseen: Writes = _NONE, *, keep: bool
    ) -> Backlog:
        self.in_flight -= 1
        self._slow -= not delivery.urgent
        backlog = self._backlogs[delivery.key]
        backlog.expected |= set(unseen) - {news.write for news in backlog.dirt}
        if backlog.expected:
            backlog.rest_until = now + REST_SECONDS
            self._expiries.append((now + EXPECT_SECONDS, delivery.key))
        backlog.land(wrote, keep=keep)
        return backlog

    def _answered(self) -> None:
        if self.outage.answered():
            for key, backlog in self._backlogs.items():
                if backlog.sink_failed and backlog.news:
                    backlog.tries, backlog.due, backlog.sink_failed = 0, 0.0, False
                    self._place(key, backlog, 0.0)

    def _settle(self, key: str, backlog: Backlog, now: float) -> None:
        if backlog.news and not backlog.sent:
            self._place(key, backlog, now)
        elif backlog.is_idle:
            del self._backlogs[key]

    def _place(self, key: str, backlog: Backlog, now: float) -> None:
        self._ticket += 1
        backlog.ticket = self._ticket
        if backlog.opens_at > now:
            if len(self._later) > 2 * len(self._backlogs) + 64:
                self._later = [place for place in self._later if self._valid(place)]
                heapify(self._later)
            heappush(self._later, (backlog.opens_at, self._ticket, key))
        else:
            heappush(self._ready[not backlog.urgent], (backlog.since, self._ticket, key))

    def _valid(self, place: _Place) -> bool:
        backlog = self._backlogs.get(place[2])
        return backlog is not None and backlog.ticket == place[1]

    def _mature(self, now: float) -> None:
        while self._expiries and self._expiries[0][0] <= now:
            key = self._expiries.popleft()[1]
            backlog = self._backlogs.get(key)
            if backlog is not None and backlog.rest_until + EXPECT_SECONDS - REST_SECONDS <= now:
                backlog.expected = set()
                if backlog.is_idle:
                    del self._backlogs[key]
        while self._later and (self._later[0][0] <= now or not self._valid(self._later[0])):
            place = heappop(self._later)
            if self._valid(place):
                backlog = self._backlogs[place[2]]
                heappush(self._ready[not backlog.urgent], (backlog.since, place[1], place[2]))

    def _choose(self) -> list[_Place] | None:
        for ready in self._ready:
            while ready and not self._valid(ready[0]):
                heappop(ready)
        urgent, slow = self._ready
        if slow and self._slow < self._slow_limit and (not urgent or slow[0][0] + PATIENCE_SECONDS < urgent[0][0]):
            return slow
        return urgent or None
