"""Pure: what waits for one WebApp, and how several changes become one notice."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final

from functions.webapp.contract import Cause, Change, Notice

MAX_DIRT: Final = 32
"""So many changes are told apart while a request is in flight; of older ones only the most telling is kept."""

Write = tuple[str, str]
"""One write of the function: uid and resourceVersion of the object it left."""


@dataclass(frozen=True, slots=True)
class News:
    """A notice and when it came, by the monotonic clock; `stamp` is the traceparent that the object carries."""

    notice: Notice
    seen: float
    stamp: str = ""

    @property
    def is_real(self) -> bool:
        """Something changed, as opposed to being announced again."""
        return self.notice.cause in {Cause.WATCH, Cause.RELIST}

    @property
    def is_urgent(self) -> bool:
        """It goes before every sync and resync."""
        return self.notice.cause not in {Cause.SYNC, Cause.RESYNC}

    def outranks(self, other: News) -> bool:
        """Whether one notice for both is about this, the newer: the WebApp before its children, its end first."""
        mine, others = self.notice, other.notice
        return mine.webapp.uid != others.webapp.uid or _rank(mine) >= _rank(others)

    @property
    def write(self) -> Write:
        """What the function would name if it had made this change itself."""
        return self.notice.object.uid, self.notice.object.resource_version


def _rank(notice: Notice) -> int:
    if notice.change is Change.SYNC:
        return 0
    if notice.object.uid != notice.webapp.uid:
        return 1
    return 3 if notice.change is Change.DELETED else 2


@dataclass(frozen=True, slots=True)
class Delivery:
    """One notice in flight. `since` is when the first change that it covers was seen."""

    key: str
    news: News
    count: int
    since: float
    tries: int
    urgent: bool
    probe: bool
    epoch: int

    @property
    def notice(self) -> Notice:
        """What is announced."""
        notice = self.news.notice
        return replace(notice, coalesced=self.count) if self.count > 1 else notice


@dataclass(slots=True)
class Backlog:
    """The state of one WebApp that has something waiting, in flight, parked or expected."""

    news: News | None = None
    count: int = 0
    since: float = 0.0
    urgent: bool = False
    tries: int = 0
    due: float = 0.0
    floor: float = 0.0
    ticket: int = 0
    sink_failed: bool = False
    sent: Delivery | None = None
    dirt: list[News] = field(default_factory=list)
    parked: News | None = None
    expected: set[Write] = field(default_factory=set)
    rest_until: float = 0.0

    @property
    def is_idle(self) -> bool:
        """Nothing is left to remember."""
        return not (self.news or self.sent or self.parked or self.expected)

    @property
    def opens_at(self) -> float:
        """No send before this moment: backoff, Retry-After, or our own writes not seen yet."""
        return max(self.due, self.floor, self.rest_until if self.expected else 0.0)

    def merge(self, news: News) -> None:
        """Let what waits stand for one more change."""
        if self.news is None:
            self.news, self.count, self.since, self.urgent = news, 0, news.seen, False
        elif news.outranks(self.news):
            self.news = news
        self.count += news.is_real
        self.since = min(self.since, news.seen)
        self.urgent = self.urgent or news.is_urgent

    def soil(self, news: News) -> None:
        """Note a change that came while a request is in flight."""
        self.dirt.append(news)
        if len(self.dirt) > MAX_DIRT:
            self.merge(self.dirt.pop(0))

    def land(self, wrote: AbstractSet[Write], *, keep: bool) -> None:
        """The request is over: what came meanwhile waits now, except exact echoes of its own writes.

        With `keep`, what was sent waits again too.
        """
        sent, self.sent = self.sent, None
        if keep and sent:
            later, more = self.news, self.count
            self.news, self.count, self.since, self.urgent = sent.news, sent.count, sent.since, sent.urgent
            if later:
                self.merge(later)
                self.count += more - later.is_real
        for news in self.dirt:
            if news.write not in wrote:
                self.merge(news)
        self.dirt = []

    def saw(self, write: Write) -> bool:
        """The watch shows one version of one object; tells whether it is an echo of a write that was answered."""
        uid, version = write
        if not any(each[0] == uid for each in self.expected):
            return False
        echo = write in self.expected
        self.expected = {each for each in self.expected if each[0] != uid or is_newer(each[1], version)}
        return echo


def is_newer(version: str, other: str) -> bool:
    """Whether a resourceVersion is newer (KEP-5504: they are whole numbers); False where they cannot be compared."""
    return version.isdecimal() and other.isdecimal() and int(version) > int(other)
