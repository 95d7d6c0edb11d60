"""API servers that misbehave: every change still gets through, and health tells the truth meanwhile."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from functions.dev.controlplane import ControlPlane
from functions.webapp.resources import SERVICE
from tests.cluster.admin import CRD, WEBAPP, until
from tests.cluster.bridge.bridges import Bridges
from tests.cluster.bridge.scripted_sink import Received, Reply, ScriptedSink
from tests.cluster.bridge.team import Team, quiet, version
from tests.faults.tcp_proxy import TcpProxy


@pytest.fixture
def proxy(cluster: ControlPlane) -> Iterator[TcpProxy]:
    where = urlsplit(cluster.server)
    with TcpProxy(where.hostname or "", where.port or 0) as found:
        yield found


def through(proxy: TcpProxy, cluster: ControlPlane, folder: Path) -> str:
    """A kubeconfig of the bridge that leads through the proxy."""
    config = json.loads(cluster.service_account_kubeconfig("webapp-system", "webapp-bridge").read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return str(path)


def test_after_compaction_it_lists_again_and_says_only_what_differs(
    cluster: ControlPlane, bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    webapps = {name: team.make(name) for name in ("kept", "edited", "removed")}
    child = team.child(webapps["kept"], SERVICE)
    bridge = bridges.start(BRIDGE_LEASE="false")
    for name in webapps:
        sink.wait(name, 1)
    bridge.signal(signal.SIGSTOP)
    edited = team.edit("edited", replicas=2)
    team.admin.delete(WEBAPP, team.namespace, "removed")
    team.admin.delete(SERVICE, team.namespace, "kept")
    team.make("new")
    cluster.compact()
    bridge.signal(signal.SIGCONT)
    sink.wait("new", 1, 60)
    sink.wait("removed", 2, 60)
    sink.wait("edited", 2, 60)
    sink.wait("kept", 2, 60)
    quiet(team, sink)
    assert bridge.figure("webapp_bridge_watch_restarts_total", kind="WebApp", reason="expired") >= 1
    assert sink.types("new") == ["webapp.added"]
    assert sink.types("removed") == ["webapp.sync", "webapp.deleted"]
    assert [each.id for each in sink.about("edited")][1] == f"{version(edited)}.modified"
    assert (sink.types("kept"), sink.about("kept")[1].data["object"]["uid"]) == (
        ["webapp.sync", "service.deleted"],
        child["metadata"]["uid"],
    )


def test_a_watch_that_falls_silent_is_noticed_and_what_it_hid_gets_through(
    cluster: ControlPlane, bridges: Bridges, team: Team, sink: ScriptedSink, proxy: TcpProxy, tmp_path: Path
) -> None:
    bridge = bridges.start(KUBECONFIG=through(proxy, cluster, tmp_path), BRIDGE_IDLE_SECONDS="8", BRIDGE_LEASE="false")
    team.make("before")
    sink.wait("before", 1)
    silent = bridge.figure("webapp_bridge_watch_restarts_total", reason="silent")
    proxy.freeze()
    team.make("hidden")
    sink.wait("hidden", 1)
    assert bridge.figure("webapp_bridge_watch_restarts_total", reason="silent") > silent
    assert sink.types("hidden") == ["webapp.added"]
    assert bridge.ask("livez")[0] == 200


def test_a_leader_that_is_cut_off_never_overlaps_with_the_next_one(
    cluster: ControlPlane, bridges: Bridges, team: Team, sink: ScriptedSink, proxy: TcpProxy, tmp_path: Path
) -> None:
    def sender(event: Received) -> str:
        return event.headers["ce-sender"]

    sink.answer = lambda event: Reply(503 if sender(event) == "first" and event.webapp == "busy" else 204)
    bridges.start(KUBECONFIG=through(proxy, cluster, tmp_path), K_CE_OVERRIDES='{"extensions": {"sender": "first"}}')
    second = bridges.start(K_CE_OVERRIDES='{"extensions": {"sender": "second"}}')
    team.make("busy")
    sink.wait("busy", 2)  # it is sent again and again, so the first has something to say all the time
    proxy.lose()
    until(second.leads, 25)
    until(lambda: sender(sink.about("busy")[-1]) == "second")
    team.edit("busy", replicas=3)
    until(lambda: sink.types("busy")[-1] == "webapp.modified")
    quiet(team, sink)
    senders = [sender(each) for each in sink.received]
    assert senders == sorted(senders), "the first sent after the second had begun"


def test_while_it_is_refused_it_is_alive_but_not_ready_and_recovers_by_itself(
    cluster: ControlPlane, bridges: Bridges, team: Team, sink: ScriptedSink, proxy: TcpProxy, tmp_path: Path
) -> None:
    bridge = bridges.start(KUBECONFIG=through(proxy, cluster, tmp_path), BRIDGE_LEASE="false")
    with proxy.refused():
        until(lambda: bridge.ask("readyz")[0] == 503)
        team.make("a")
        assert bridge.ask("livez")[0] == 200
    sink.wait("a", 1, 60)
    bridge.wait_ready()
    assert sink.types("a") == ["webapp.added"]
    assert bridge.figure("webapp_bridge_watch_restarts_total", kind="WebApp") >= 1


def test_a_crd_that_is_removed_and_installed_again_is_watched_again(
    cluster: ControlPlane, bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    bridge = bridges.start()
    team.make("a")
    sink.wait("a", 1)
    team.admin.delete(CRD, "", "webapps.platform.example.com")
    team.admin.wait_gone(CRD, "", "webapps.platform.example.com")
    until(lambda: bridge.ask("readyz")[0] == 503, 60)
    assert "install its CRD" in bridge.ask("readyz")[1]
    cluster.install()
    again = team.make("a")
    events = sink.wait("a", 3, 60)
    assert [each.type for each in events] == ["webapp.added", "webapp.deleted", "webapp.added"]
    assert events[2].id == f"{version(again)}.added"
    bridge.wait_ready()


def test_without_the_right_to_watch_it_says_which_and_waits(
    cluster: ControlPlane, bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    bridge = bridges.start(ready=False, BRIDGE_OWNED="services.v1/Service,configmaps.v1/ConfigMap")
    until(lambda: "list and watch of configmaps.v1" in bridge.ask("readyz")[1])
    team.make("a")
    assert sink.received == [], "a snapshot that may lack children is not sent"
    assert bridge.process.log.read_text().count("are not allowed: grant them") == 1
    bridge.stop()


def test_a_consistency_relist_finds_nothing_where_nothing_was_missed(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    bridge = bridges.start(BRIDGE_RELIST_SECONDS="1")
    team.make("a")
    until(lambda: bridge.figure("webapp_bridge_watch_restarts_total", kind="WebApp", reason="relist") >= 2)
    assert bridge.figure("webapp_bridge_repaired_total") == 0
    assert sink.types("a") == ["webapp.added"]
