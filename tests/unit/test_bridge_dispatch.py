"""The threads between queue and sink: as many as there is work for, none too many, none left."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from event_bridge.answer import Answer
from event_bridge.backlog import Delivery
from event_bridge.bridge import Bridge
from event_bridge.dispatch import Dispatcher
from event_bridge.figures import Figures
from functions.webapp.resources import DEPLOYMENT
from tests.bridge_parts import BUSY, OK, WEBAPP, pruned, stored
from tests.cluster.admin import until

LIMIT = 4


class Rig:
    """A bridge whose sink is a function of the test."""

    def __init__(self) -> None:
        scopes = [(WEBAPP, ""), (DEPLOYMENT, "")]
        self.bridge = Bridge(scopes, concurrency=LIMIT, figures=Figures(scope[0].kind for scope in scopes))
        self.answer: Callable[[Delivery], Answer] = lambda _: OK
        self.sent: list[Delivery] = []
        self.running = 0
        self.most = 0
        self.rests = 0
        self._turn = threading.Lock()
        self.dispatcher = Dispatcher(self.bridge, self._send, self._rest, limit=LIMIT)
        self.dispatcher.start()
        for scope in scopes:
            self.bridge.swept(scope, set())
        self.bridge.lead(leading=True)

    def _rest(self) -> None:
        self.rests += 1

    def _send(self, delivery: Delivery) -> None:
        with self._turn:
            self.running += 1
            self.most = max(self.most, self.running)
        answer = self.answer(delivery)
        with self._turn:
            self.running -= 1
            self.sent.append(delivery)
        self.bridge.land(delivery, answer)

    def make(self, count: int) -> None:
        for number in range(count):
            self.bridge.saw(pruned(stored(f"w{number}", version=number + 1)), "ADDED")


def senders() -> int:
    return sum(thread.name == "sender" for thread in threading.enumerate())


@pytest.fixture
def rig() -> Iterator[Rig]:
    found = Rig()
    yield found
    found.dispatcher.stop(10)
    until(lambda: senders() == 0)
    assert found.rests >= 1


def test_as_many_as_allowed_send_at_once_and_everything_is_sent(rig: Rig) -> None:
    all_in = threading.Barrier(LIMIT, timeout=10)
    rig.answer = lambda _: (all_in.wait(), OK)[1]
    rig.make(5 * LIMIT)
    until(lambda: len(rig.sent) == 5 * LIMIT)
    assert rig.most == LIMIT
    assert len({delivery.key for delivery in rig.sent}) == 5 * LIMIT


def test_one_change_needs_one_thread(rig: Rig) -> None:
    rig.make(1)
    until(lambda: rig.sent)
    assert senders() == 1


def test_a_backoff_is_kept_by_nobody_but_the_clock(rig: Rig) -> None:
    rig.answer = lambda delivery: BUSY if delivery.tries < 3 else OK
    rig.make(3)
    until(lambda: len(rig.sent) == 12)
    assert [delivery.tries for delivery in rig.sent if delivery.key == "team/w1"] == [0, 1, 2, 3]


def test_who_does_not_lead_sends_nothing(rig: Rig) -> None:
    rig.bridge.lead(leading=False)
    rig.make(3)
    assert (senders(), rig.sent) == (0, [])
    rig.bridge.lead(leading=True)
    until(lambda: len(rig.sent) == 3)
    assert {delivery.notice.cause.value for delivery in rig.sent} == {"sync"}


def test_a_stop_waits_for_what_is_in_flight_and_takes_nothing_more(rig: Rig) -> None:
    let_go = threading.Event()
    rig.answer = lambda _: (let_go.wait(10), OK)[1]
    rig.make(3 * LIMIT)
    until(lambda: rig.running == LIMIT)
    stopping = threading.Thread(target=rig.dispatcher.stop, args=(10,))
    stopping.start()
    let_go.set()
    stopping.join(10)
    assert len(rig.sent) == LIMIT


def test_the_bridge_loads_none_of_the_heavy_packages() -> None:
    heavy = {"pydantic", "flask", "kubernetes", "requests", "asyncio", "gunicorn"}
    code = f"import event_bridge.process, sys; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
