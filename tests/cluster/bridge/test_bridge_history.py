"""The way of finished reconciles to the history: whatever its sink does, no delivery waits for it."""

from __future__ import annotations

import signal
import ssl
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from functions.dev.certificates import CertificateAuthority
from functions.dev.processes import LOOPBACK, free_port
from tests.cluster.admin import until
from tests.cluster.bridge.bridges import Bridges, RunningBridge
from tests.cluster.bridge.scripted_sink import Received, Reply, ScriptedSink, scripted_sink
from tests.cluster.bridge.team import Team

NAMES = [f"w{number}" for number in range(30)]


@pytest.fixture
def history() -> Iterator[ScriptedSink]:
    with scripted_sink() as found:
        yield found


def finished(found: Received) -> Reply:
    """What a function answers that was asked for a reply."""
    headers = {"ce-specversion": "1.0", "ce-id": f"{found.id}.run", "ce-type": "x", "content-type": "application/json"}
    return Reply(200, headers, b'{"outcome": "created"}')


def recorded(history: ScriptedSink) -> list[str]:
    return [each.id for each in list(history.received)]


def test_what_functions_reply_reaches_the_history_unchanged(
    bridges: Bridges, team: Team, sink: ScriptedSink, history: ScriptedSink
) -> None:
    sink.answer = finished
    bridge = bridges.start(BRIDGE_HISTORY_SINK=history.url)
    team.make("a")
    [event] = sink.wait("a", 1)
    assert event.headers["prefer"] == "reply, finished"
    until(lambda: history.received)
    [told] = history.received
    assert (told.id, told.data) == (f"{event.id}.run", {"outcome": "created"})
    assert bridge.figure("webapp_bridge_history_sent_total", answer="2xx") == 1


def test_without_a_history_no_reply_is_asked_for(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    sink.answer = finished
    bridges.start()
    team.make("a")
    assert "prefer" not in sink.wait("a", 1)[0].headers


def test_what_a_failing_run_tells_is_handed_on_and_the_event_is_sent_again(
    bridges: Bridges, team: Team, sink: ScriptedSink, history: ScriptedSink
) -> None:
    body = b'{"title": "api_unavailable", "finished": {"id": "run-1", "type": "x"}}'
    replies = iter([Reply(503, {"content-type": "application/problem+json"}, body)])
    sink.answer = lambda found: next(replies, finished(found))
    bridges.start(BRIDGE_HISTORY_SINK=history.url)
    team.make("a")
    first, second = sink.wait("a", 2)
    assert first.id == second.id
    until(lambda: len(history.received) == 2)
    assert recorded(history) == ["run-1", f"{first.id}.run"]
    assert history.received[0].headers["content-type"] == "application/cloudevents+json"


def kept(bridge: RunningBridge) -> float:
    return bridge.figure("webapp_bridge_history_waiting")


def took(bridge: RunningBridge, history: ScriptedSink, others: int) -> bool:
    """One run is in flight, and so many others came after it."""
    return bool(history.received) and kept(bridge) + lost(bridge) == others


def lost(bridge: RunningBridge) -> float:
    return bridge.figure("webapp_bridge_history_dropped_total", reason="overflow")


@pytest.mark.parametrize("fault", ["hang", "503", "refused"])
def test_no_delivery_waits_for_the_history_and_all_of_it_arrives_later(
    bridges: Bridges, team: Team, sink: ScriptedSink, history: ScriptedSink, fault: str
) -> None:
    let_go, taken = threading.Event(), threading.Event()

    def misbehave(found: Received) -> Reply:
        taken.set()
        if fault == "hang":
            let_go.wait(60)
        return Reply() if let_go.is_set() else Reply(503)

    sink.answer, history.answer = finished, misbehave
    where = f"http://{LOOPBACK}:{free_port()}/" if fault == "refused" else history.url
    bridge = bridges.start(BRIDGE_HISTORY_SINK=where)
    for name in NAMES:
        team.make(name)
    for name in NAMES:
        sink.wait(name, 1)
    until(lambda: bridge.figure("webapp_bridge_sent_total", answer="2xx") == len(NAMES))
    assert len(sink.received) == len(NAMES), "each was sent once"
    assert sink.most_in_flight.most_common(1)[0][1] == 1
    assert bridge.figure("webapp_bridge_queue_depth") == 0
    assert bridge.figure("webapp_bridge_history_sent_total", answer="2xx") == 0
    assert bridge.figure("webapp_bridge_history_waiting") >= len(NAMES) - 1
    assert bridge.figure("webapp_bridge_history_dropped_total") == 0
    if fault == "refused":
        until(lambda: bridge.figure("webapp_bridge_history_sent_total", answer="connect") >= 1)
        bridge.signal(signal.SIGKILL)
        return
    assert taken.is_set()
    let_go.set()
    until(lambda: len(set(recorded(history))) == len(NAMES))
    until(lambda: bridge.figure("webapp_bridge_history_waiting") == 0)
    assert set(recorded(history)) == {f"{each.id}.run" for each in sink.received}


def test_an_overflow_loses_the_oldest_runs_and_no_delivery(
    bridges: Bridges, team: Team, sink: ScriptedSink, history: ScriptedSink
) -> None:
    let_go = threading.Event()

    def hang(_: Received) -> Reply:
        let_go.wait(60)
        return Reply()

    sink.answer, history.answer = finished, hang
    bridge = bridges.start(BRIDGE_HISTORY_SINK=history.url, BRIDGE_HISTORY_EVENTS="10")
    for others, name in enumerate(NAMES):  # one after the other: senders may overtake each other
        team.make(name)
        sink.wait(name, 1)
        until(partial(took, bridge, history, others))
    assert lost(bridge) == len(NAMES) - 10 - 1, "the first is in flight"
    assert bridge.process.log.read_text().count("reconciles are missing from the history") == 1
    let_go.set()
    until(lambda: len(history.received) == 11)
    newest = [sink.about(name)[0].id for name in (NAMES[0], *NAMES[-10:])]
    assert recorded(history) == [f"{each}.run" for each in newest]


def test_sigterm_hands_over_what_waits(bridges: Bridges, team: Team, sink: ScriptedSink, history: ScriptedSink) -> None:
    hold = True
    sink.answer, history.answer = finished, lambda _: Reply(503, {"retry-after": "60"}) if hold else Reply()
    bridge = bridges.start(BRIDGE_HISTORY_SINK=history.url)
    for name in NAMES:
        team.make(name)
    for name in NAMES:
        sink.wait(name, 1)
    until(lambda: bridge.figure("webapp_bridge_history_waiting") == len(NAMES))
    hold = False
    bridge.stop()
    assert len(set(recorded(history))) == len(NAMES)


def test_a_sink_whose_authority_changes_is_trusted_again_without_a_restart(
    bridges: Bridges, team: Team, tmp_path: Path
) -> None:
    bundles = tmp_path / "bundles"
    bundles.mkdir()
    old, new = (CertificateAuthority(tmp_path, name) for name in ("old", "new"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (bundles / "ca.pem").write_bytes(old.certificate.read_bytes())

    def serve(authority: CertificateAuthority, name: str) -> None:
        pair = authority.issue(name, hosts=[LOOPBACK])
        context.load_cert_chain(pair.certificate, pair.key)

    serve(old, "before")
    with scripted_sink(context) as sink:
        sink.answer = lambda _: Reply(204, {"connection": "close"})
        bridge = bridges.start(K_SINK=sink.url, BRIDGE_TRUST_BUNDLES=str(bundles))
        team.make("a")
        sink.wait("a", 1)
        serve(new, "after")
        team.make("b")
        until(lambda: bridge.figure("webapp_bridge_sent_total", answer="tls") >= 1)
        assert sink.about("b") == []
        fresh = tmp_path / "fresh.pem"
        fresh.write_bytes(new.certificate.read_bytes())
        fresh.rename(bundles / "ca.pem")
        sink.wait("b", 1)
        assert bridge.figure("webapp_bridge_sent_total", answer="2xx") == 2
