"""The queue's promise under any order of events: nothing lost, one in flight per WebApp, nobody starved, bounded."""

from __future__ import annotations

from dataclasses import dataclass, field

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from event_bridge.answer import Answer
from event_bridge.backlog import Delivery, News, Write
from event_bridge.queue import Queue
from functions.webapp.contract import Cause, Change
from tests.bridge_parts import BUSY, NOBODY, OK, announcement, change, ok

NAMES = ["a", "b"]
SLOW_LIMIT = 1
names = st.sampled_from(NAMES)
picks = st.integers(0, len(NAMES) - 1)
chances = st.floats(0, 1, exclude_max=True)


@dataclass
class Flight:
    """A request that the model has seen start, with the changes that it covers."""

    delivery: Delivery
    covers: set[Write]
    wrote: list[Write] = field(default_factory=list)


class QueueMachine(RuleBasedStateMachine):
    """`open` holds, per WebApp, every change that no acknowledged send has covered yet and that is no echo."""

    @initialize()
    def begin(self) -> None:
        self.queue = Queue(slow_limit=SLOW_LIMIT)
        self.now = 100.0
        self.version = 0
        self.incarnations = dict.fromkeys(NAMES, 1)
        self.open: dict[str, set[Write]] = {name: set() for name in NAMES}
        self.flights: dict[str, Flight] = {}
        self.answered: set[Write] = set()
        self.unshown: list[News] = []

    def next_version(self) -> int:
        self.version += 1
        return self.version

    def arrive(self, news: News) -> None:
        """The watch shows something: an echo is dropped, everything else is offered, as the bridge does it."""
        name = news.notice.webapp.name
        if self.queue.saw(f"team/{name}", news.write, self.now):
            assert news.write in self.answered, f"{news.write} is nobody's echo"
        else:
            self.open[name].add(news.write)
            self.queue.offer(news)

    def make(self, name: str, *, child: bool, what: Change = Change.MODIFIED) -> News:
        incarnation = self.incarnations[name]
        return change(name, self.next_version(), at=self.now, child=child, what=what, incarnation=incarnation)

    def announce(self, name: str, cause: Cause, later: float = 0.0) -> News:
        incarnation = self.incarnations[name]
        return announcement(name, self.version, at=self.now + later, cause=cause, incarnation=incarnation)

    @rule(name=names, child=st.booleans(), relisted=st.booleans())
    def somebody_changes(self, name: str, child: bool, relisted: bool) -> None:
        news = self.make(name, child=child)
        for earlier in [each for each in self.unshown if each.write[0] == news.write[0]]:
            self.unshown.remove(earlier)
            if not relisted:  # a watch keeps the order of one object's versions, a list shows the last one only
                self.arrive(earlier)
        self.arrive(news)

    @rule(name=names)
    def somebody_replaces_the_webapp(self, name: str) -> None:
        self.arrive(self.make(name, child=False, what=Change.DELETED))
        self.incarnations[name] += 1
        self.arrive(self.make(name, child=False, what=Change.ADDED))
        self.unshown = [each for each in self.unshown if each.notice.webapp.name != name]  # orphans are never offered

    @rule(name=names, cause=st.sampled_from([Cause.SYNC, Cause.RESYNC]))
    def a_sync_is_asked_for(self, name: str, cause: Cause) -> None:
        self.queue.offer(self.announce(name, cause))

    @rule()
    def a_sender_takes_what_it_gets(self) -> None:
        delivery = self.queue.take(self.now)
        if delivery:
            name = delivery.news.notice.webapp.name
            assert name not in self.flights
            assert delivery.news.notice.webapp.uid == f"{name}-{self.incarnations[name]}" or not self.open[name]
            self.flights[name] = Flight(delivery, set(self.open[name]))

    @precondition(lambda self: self.flights)
    @rule(pick=picks, child=st.booleans(), shown=st.booleans())
    def a_run_writes(self, pick: int, child: bool, shown: bool) -> None:
        name = self.flying(pick)
        news = self.make(name, child=child)
        self.flights[name].wrote.append(news.write)
        if shown:
            self.arrive(news)
        else:
            self.unshown.append(news)

    @precondition(lambda self: self.unshown)
    @rule()
    def the_watch_shows_a_write(self) -> None:
        self.arrive(self.unshown.pop(0))

    def flying(self, pick: int) -> str:
        return sorted(self.flights)[pick % len(self.flights)]

    def land(self, name: str) -> tuple[Flight, set[Write]]:
        flight = self.flights.pop(name)
        unseen = {news.write for news in self.unshown} & set(flight.wrote)
        self.open[name] -= set(flight.wrote)
        self.answered.update(flight.wrote)
        return flight, unseen

    @precondition(lambda self: self.flights)
    @rule(pick=picks, requeue=st.sampled_from([0.0, 5.0]))
    def it_is_acknowledged(self, pick: int, requeue: float) -> None:
        name = self.flying(pick)
        flight, unseen = self.land(name)
        self.open[name] -= flight.covers
        again = self.announce(name, Cause.REQUEUE, requeue) if requeue else None
        self.queue.done(flight.delivery, self.now, ok(*flight.wrote), unseen=unseen, again=again)

    @precondition(lambda self: self.flights)
    @rule(pick=picks, answer=st.sampled_from([BUSY, NOBODY]), random=chances)
    def it_fails(self, pick: int, answer: Answer, random: float) -> None:
        name = self.flying(pick)
        flight = self.flights.pop(name)
        self.queue.failed(flight.delivery, self.now, answer, random=random)

    @precondition(lambda self: self.flights)
    @rule(pick=picks)
    def it_is_poison(self, pick: int) -> None:
        name = self.flying(pick)
        flight = self.flights.pop(name)
        self.queue.park(flight.delivery, self.now)

    @precondition(lambda self: self.flights)
    @rule(pick=picks)
    def it_was_not_allowed(self, pick: int) -> None:
        name = self.flying(pick)
        self.queue.withdraw(self.flights.pop(name).delivery, self.now)

    @rule()
    def parked_ones_are_sent_again(self) -> None:
        parked = self.queue.parked()
        assert self.queue.resend("", self.now) == len(parked)
        assert not self.queue.parked()

    @rule(seconds=st.sampled_from([0.01, 0.5, 2.0, 15.0, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def nothing_is_lost(self) -> None:
        waiting = {backlog.news.notice.webapp.name for backlog in self.queue.waiting() if backlog.news}
        for name in NAMES:
            flight = self.flights.get(name)
            left = self.open[name] - (flight.covers if flight else set())
            if flight is None and left:
                assert name in waiting or f"team/{name}" in self.queue.parked(), f"{left} of {name} will never be sent"

    @invariant()
    def somebody_is_told_when_to_take(self) -> None:
        ready = [backlog for backlog in self.queue.waiting() if not backlog.sent]
        slow = sum(not flight.delivery.urgent for flight in self.flights.values())
        if any(backlog.urgent or slow < SLOW_LIMIT for backlog in ready):
            assert self.queue.opens_at() is not None

    @invariant()
    def it_is_bounded(self) -> None:
        assert len(self.queue) <= len(NAMES)
        assert self.queue.in_flight == len(self.flights)
        assert sum(not flight.delivery.urgent for flight in self.flights.values()) <= SLOW_LIMIT

    def teardown(self) -> None:
        """Once the sink works again, everything is delivered in a bounded number of sends."""
        if not hasattr(self, "queue"):
            return
        for name in list(self.flights):
            flight, unseen = self.land(name)
            self.open[name] -= flight.covers
            self.queue.done(flight.delivery, self.now, ok(*flight.wrote), unseen=unseen)
        for _ in range(4 * len(NAMES)):
            opens_at = self.queue.opens_at()
            if opens_at is None:
                break
            self.now = max(self.now, opens_at)
            if delivery := self.queue.take(self.now):
                self.open[delivery.news.notice.webapp.name].clear()
                self.queue.done(delivery, self.now, OK)
        for key in self.queue.parked():
            self.open[key.removeprefix("team/")].clear()
        assert self.queue.opens_at() is None
        assert not any(self.open.values())


QueueMachine.TestCase.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
TestQueue = QueueMachine.TestCase
