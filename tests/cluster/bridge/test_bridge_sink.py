"""Sinks that fail: nothing is lost, nobody else waits, and what can never succeed is put aside."""

from __future__ import annotations

import json
import threading
from collections import Counter

import pytest

from functions.dev.processes import LOOPBACK, free_port
from tests.cluster.admin import until
from tests.cluster.bridge.bridges import Bridges
from tests.cluster.bridge.scripted_sink import Received, Reply, ScriptedSink
from tests.cluster.bridge.team import Team, quiet


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408, 409, 404])
def test_what_may_be_cured_is_sent_again_under_the_same_id_until_it_is_taken(
    bridges: Bridges, team: Team, sink: ScriptedSink, status: int
) -> None:
    tries: Counter[str] = Counter()

    def fail_twice(found: Received) -> Reply:
        tries[found.webapp] += 1
        return Reply(status if tries[found.webapp] < 3 else 204)

    sink.answer = fail_twice
    bridge = bridges.start()
    team.make("a")
    events = sink.wait("a", 3)
    until(lambda: bridge.figure("webapp_bridge_queue_depth") == 0)
    assert len({each.id for each in events}) == 1
    assert len({each.headers["ce-traceparent"] for each in events}) == 1, "one trace over all attempts"
    assert len({each.headers["traceparent"] for each in events}) == 3, "one span each"
    assert bridge.figure("webapp_bridge_retried_total") == 2


def test_a_retried_notice_carries_the_newest_snapshot(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    sink.answer = lambda found: Reply(503, {"retry-after": "1"}) if found.type == "webapp.added" else Reply()
    bridges.start()
    team.make("a")
    sink.wait("a", 1)
    team.edit("a", replicas=9)
    event = sink.wait("a", 2)[1]
    assert (event.type, event.data["coalesced"]) == ("webapp.modified", 2)
    assert event.data["snapshot"]["webapp"]["spec"]["replicas"] == 9


def test_poison_is_parked_on_file_and_tried_again_when_the_webapp_changes(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    sink.answer = lambda found: Reply(422 if found.type == "webapp.added" else 204)
    bridge = bridges.start()
    team.make("a")
    sink.wait("a", 1)
    until(lambda: bridge.figure("webapp_bridge_parked_webapps") == 1)
    [line] = bridges.parked()
    assert json.loads(line)["knativeerrorcode"] == 422
    assert json.loads(line)["id"] == sink.about("a")[0].id
    team.edit("a", replicas=2)
    sink.wait("a", 2)
    until(lambda: bridge.figure("webapp_bridge_parked_webapps") == 0)
    assert sink.types("a") == ["webapp.added", "webapp.modified"]


def test_poison_is_sent_again_when_told(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    sink.answer = lambda _: Reply(400)
    bridge = bridges.start()
    for name in ("a", "b"):
        team.make(name)
    until(lambda: bridge.figure("webapp_bridge_parked_webapps") == 2)
    sink.answer = lambda _: Reply()
    assert bridge.ask(f"resend?webapp={team.namespace}/a", "POST") == (200, '{"resent": 1}\n')
    assert bridge.ask("resend", "POST") == (200, '{"resent": 1}\n')
    assert bridge.ask("resend", "POST") == (200, '{"resent": 0}\n')
    for name in ("a", "b"):
        first, second = sink.wait(name, 2)
        assert first.id == second.id


def test_an_event_that_is_too_large_is_sent_once_more_without_its_snapshot(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    sink.answer = lambda found: Reply(413 if "snapshot" in found.data else 204)
    bridge = bridges.start()
    team.make("a")
    sink.wait("a", 2)
    quiet(team, sink)
    assert ["snapshot" in each.data for each in sink.about("a")] == [True, False]
    assert bridge.figure("webapp_bridge_parked_total") == 0


def test_fifty_webapps_go_on_while_one_hangs(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    let_go = threading.Event()

    def hang_on_one(found: Received) -> Reply:
        if found.webapp == "stuck":
            let_go.wait(60)
        return Reply()

    sink.answer = hang_on_one
    bridge = bridges.start()
    team.make("stuck")
    sink.wait("stuck", 1)
    for number in range(50):
        team.make(f"w{number}")
    for number in range(50):
        sink.wait(f"w{number}", 1)
    assert bridge.figure("webapp_bridge_in_flight") == 1
    assert sink.most_in_flight.most_common(1)[0][1] == 1
    let_go.set()


def test_a_sink_that_never_answers_is_given_up_after_the_time_limit(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    let_go = threading.Event()
    hung: list[str] = []

    def hang_once(found: Received) -> Reply:
        hung.append(found.id)
        if len(hung) == 1:
            let_go.wait(60)
        return Reply()

    sink.answer = hang_once
    bridge = bridges.start(BRIDGE_RESPONSE_SECONDS="0.5")
    team.make("a")
    sink.wait("a", 2)
    let_go.set()
    assert bridge.figure("webapp_bridge_sent_total", answer="timeout") == 1


def test_while_the_sink_is_down_one_probe_at_a_time_asks_and_nothing_is_lost(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    down = True
    sink.answer = lambda _: Reply(503 if down else 204)
    bridge = bridges.start()
    names = [f"w{number}" for number in range(20)]
    for name in names:
        team.make(name)
    until(lambda: bridge.figure("webapp_bridge_sent_total", answer="5xx") >= 5)
    assert bridge.figure("webapp_bridge_queue_depth") >= len(names) - 1
    sink.most_at_once = 0
    asked = len(sink.received)
    until(lambda: len(sink.received) >= asked + 4)
    assert sink.most_at_once == 1
    down = False
    until(lambda: bridge.figure("webapp_bridge_queue_depth") == 0)
    until(lambda: bridge.figure("webapp_bridge_sent_total", answer="2xx") == len(names))


def test_a_sink_that_is_not_there_yet_gets_everything_once_it_is(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    team.make("a")
    bridge = bridges.start(K_SINK=f"http://{LOOPBACK}:{free_port()}/")
    until(lambda: bridge.figure("webapp_bridge_sent_total", answer="connect") >= 2)
    assert bridge.ask("readyz")[0] == 200, "retrying is ready"
    assert bridge.figure("webapp_bridge_queue_depth") == 1
    bridge.stop()
    bridges.start()
    assert sink.wait("a", 1)[0].type == "webapp.sync"
