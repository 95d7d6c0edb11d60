"""Finished reconciles on their way to the history: bounded, in order, kept at until they are taken or refused."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from event_bridge import settings
from event_bridge.figures import Figures
from event_bridge.history import History
from event_bridge.reply import Reply as Event
from event_bridge.sink import Sink
from tests.cluster.admin import until
from tests.cluster.bridge.scripted_sink import Received, Reply, ScriptedSink, scripted_sink


@pytest.fixture
def sink() -> Iterator[ScriptedSink]:
    with scripted_sink() as found:
        yield found


class Running:
    """A history towards the sink with room for `events`."""

    def __init__(self, sink: ScriptedSink, events: int = 100, octets: int = 1 << 20, **environ: str) -> None:
        wanted = settings.load({"BRIDGE_HISTORY_SINK": sink.url, "BRIDGE_RESPONSE_SECONDS": "30", **environ}).history
        assert wanted is not None
        self._figures = Figures([])
        to = Sink(wanted.destination, allowed=lambda: True)
        self.history = History(to, self._figures, most_events=events, most_bytes=octets)
        self.history.start()

    def offer(self, *numbers: int, padding: int = 0) -> None:
        for number in numbers:
            headers = {"ce-id": str(number), "content-type": "application/json"}
            self.history.offer(Event(headers, b'"%b"' % (b"x" * padding)))

    def count(self, name: str, label: str) -> float:
        lines = self._figures.page().decode().splitlines()
        [found] = [line for line in lines if line.startswith(f"webapp_bridge_history_{name}_total{{") and label in line]
        return float(found.rpartition(" ")[2])


def ids(sink: ScriptedSink) -> list[int]:
    return [int(each.id) for each in sink.received]


def test_events_arrive_in_order_over_one_connection(sink: ScriptedSink) -> None:
    running = Running(sink)
    running.offer(*range(20))
    running.history.stop(10)
    assert ids(sink) == list(range(20))
    assert sink.connections == 1
    assert sink.most_at_once == 1
    assert running.count("sent", "2xx") == 20


def test_what_may_be_cured_is_sent_again_before_what_came_later(sink: ScriptedSink) -> None:
    replies = iter([Reply(503), Reply(500), *[Reply()] * 3])
    sink.answer = lambda _: next(replies)
    running = Running(sink)
    running.offer(1, 2, 3)
    until(lambda: len(sink.received) == 5)
    assert ids(sink) == [1, 1, 1, 2, 3]
    running.history.stop(1)
    assert (running.count("sent", "5xx"), running.count("dropped", "overflow")) == (2, 0)


def test_what_the_sink_will_never_take_is_dropped_and_counted(
    sink: ScriptedSink, caplog: pytest.LogCaptureFixture
) -> None:
    sink.answer = lambda found: Reply(422 if found.id == "1" else 204)
    running = Running(sink)
    running.offer(1, 2)
    running.history.stop(10)
    assert ids(sink) == [1, 2]
    assert running.count("dropped", "refused") == 1
    assert [record.message for record in caplog.records] == ["reconciles are missing from the history"]


@pytest.mark.parametrize("bounds", [{"events": 3}, {"octets": 5000}])
def test_the_oldest_goes_when_there_is_no_room_and_the_log_says_so_once(
    sink: ScriptedSink, caplog: pytest.LogCaptureFixture, bounds: dict[str, Any]
) -> None:
    caplog.set_level(logging.INFO)
    let_go = threading.Event()

    def hang(_: Received) -> Reply:
        let_go.wait(30)
        return Reply()

    sink.answer = hang
    running = Running(sink, **bounds)
    running.offer(0)
    until(lambda: sink.received)
    running.offer(*range(1, 50), padding=1000)
    dropped = running.count("dropped", "overflow")
    assert dropped == 49 - running.history.depth
    assert 0 < running.history.depth <= 3
    assert [record.message for record in caplog.records] == ["reconciles are missing from the history"]
    let_go.set()
    running.history.stop(10)
    assert ids(sink) == [0, *range(1 + int(dropped), 50)], "the newest are kept"
    assert [record.message for record in caplog.records][1:] == ["the history goes on"]


def test_an_end_hurries_but_waits_no_longer_than_its_grace(
    sink: ScriptedSink, caplog: pytest.LogCaptureFixture
) -> None:
    sink.answer = lambda _: Reply(503, {"retry-after": "60"})
    running = Running(sink)
    running.offer(1, 2)
    until(lambda: sink.received)
    running.history.stop(0.5)
    assert ids(sink) == [1, 1], "tried once more, although the sink asked for a minute"
    assert caplog.records[-1].message == "the history sink did not take everything in time"


def test_a_token_of_its_own_goes_along_and_never_that_of_the_other_sink(sink: ScriptedSink, tmp_path: Path) -> None:
    (tmp_path / "own").write_text("own")
    (tmp_path / "other").write_text("other")
    Running(sink, BRIDGE_OIDC_TOKEN=str(tmp_path / "other")).offer(1)
    until(lambda: len(sink.received) == 1)
    Running(sink, BRIDGE_HISTORY_TOKEN=str(tmp_path / "own")).offer(2)
    until(lambda: len(sink.received) == 2)
    assert [each.headers.get("authorization") for each in sink.received] == [None, "Bearer own"]
