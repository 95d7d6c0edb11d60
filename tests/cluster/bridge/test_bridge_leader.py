"""Two bridges: one sends, the other takes over; whatever happens to the first, nothing is lost."""

from __future__ import annotations

import signal
import time

from tests.cluster.admin import until
from tests.cluster.bridge.bridges import Bridges
from tests.cluster.bridge.scripted_sink import Reply, ScriptedSink
from tests.cluster.bridge.team import Team, quiet

LEASE_SECONDS = 15


def test_the_standby_is_ready_and_sends_nothing(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    bridges.start()
    standby = bridges.start()
    team.make("a")
    sink.wait("a", 1)
    until(lambda: standby.figure("webapp_bridge_watch_events_total", decision="standby") == 1)
    quiet(team, sink)
    assert sink.types("a") == ["webapp.added"]
    assert standby.figure("webapp_bridge_sent_total") == 0
    assert standby.ask("readyz")[0] == 200


def test_after_sigterm_the_standby_leads_at_once(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    first = bridges.start()
    second = bridges.start()
    team.make("a")
    sink.wait("a", 1)
    first.stop()
    stopped = time.monotonic()
    until(second.leads)
    assert time.monotonic() - stopped < LEASE_SECONDS / 2, "it did not wait for the lease to expire"
    assert sink.wait("a", 2)[1].type == "webapp.sync"
    team.edit("a", replicas=2)
    assert sink.wait("a", 3)[2].type == "webapp.modified"


def test_after_kill_the_standby_leads_within_twenty_seconds_and_says_what_was_left_unsaid(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    sink.answer = lambda found: Reply(503 if found.webapp == "unsaid" else 204)
    first = bridges.start()
    second = bridges.start()
    team.make("unsaid")
    sink.wait("unsaid", 1)
    first.signal(signal.SIGKILL)
    team.edit("unsaid", replicas=4)
    sink.answer = lambda _: Reply()
    sink.clear()
    until(second.leads, 20)
    event = sink.wait("unsaid", 1)[0]
    assert (event.type, event.data["snapshot"]["webapp"]["spec"]["replicas"]) == ("webapp.sync", 4)
    assert second.figure("webapp_bridge_lease_transitions_total") >= 1


def test_who_was_stopped_and_wakes_up_late_sends_nothing(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    first = bridges.start()
    second = bridges.start()
    first.signal(signal.SIGSTOP)
    until(second.leads, 20)
    team.make("a")
    sink.wait("a", 1)
    sent = len(sink.received)
    first.signal(signal.SIGCONT)
    until(lambda: first.figure("webapp_bridge_watch_events_total", kind="WebApp", type="ADDED") == 1)
    until(lambda: not first.leads())
    assert first.figure("webapp_bridge_sent_total") == 0
    assert len(sink.received) == sent
    team.edit("a", replicas=2)
    sink.wait("a", 2)
    quiet(team, sink)
    assert sink.types("a") == ["webapp.added", "webapp.modified"]


def test_who_cannot_renew_stops_sending_and_goes_on_when_it_can(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    bridge = bridges.start()
    team.make("a")
    sink.wait("a", 1)
    bridge.signal(signal.SIGSTOP)
    time.sleep(11)  # longer than the renew deadline, shorter than the lease
    sink.clear()
    bridge.signal(signal.SIGCONT)
    until(lambda: len(sink.about("a")) == 1 or bridge.leads())
    team.edit("a", replicas=2)
    until(lambda: "webapp.modified" in sink.types("a"))


def test_sigterm_lets_what_is_in_flight_finish(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    bridge = bridges.start()
    answered = []

    def slow(_: object) -> Reply:
        time.sleep(2)
        answered.append(True)
        return Reply()

    sink.answer = slow
    team.make("a")
    sink.wait("a", 1)
    bridge.stop()
    assert answered == [True]
