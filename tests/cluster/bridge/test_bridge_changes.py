"""What the bridge says of changes in a real cluster: the right types, ids and snapshots, once each."""

from __future__ import annotations

import pytest

from functions.webapp.resources import DEPLOYMENT, SERVICE
from tests.cluster.admin import WEBAPP, until
from tests.cluster.bridge.bridges import Bridges
from tests.cluster.bridge.scripted_sink import Received, Reply, ScriptedSink
from tests.cluster.bridge.team import Team, quiet, version


def test_a_start_announces_each_webapp_once_with_its_children(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    webapps = {name: team.make(name) for name in ("a", "b", "c")}
    deployment = team.child(webapps["a"], DEPLOYMENT)
    bridges.start()
    for name in webapps:
        sink.wait(name, 1)
    quiet(team, sink)
    assert {name: [each.id for each in sink.about(name)] for name in webapps} == {
        name: [f"{version(webapp)}.sync"] for name, webapp in webapps.items()
    }
    snapshot = sink.about("a")[0].data["snapshot"]
    assert snapshot["webapp"]["metadata"]["uid"] == webapps["a"]["metadata"]["uid"]
    assert [each["metadata"]["uid"] for each in snapshot["owned"]] == [deployment["metadata"]["uid"]]
    assert "managedFields" not in str(snapshot)


def test_changes_of_a_webapp_have_their_types_ids_and_newest_state(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    bridges.start()
    made = team.make("a")
    sink.wait("a", 1)
    edited = team.edit("a", replicas=3)
    sink.wait("a", 2)
    team.admin.delete(WEBAPP, team.namespace, "a")
    added, modified, deleted = sink.wait("a", 3)
    assert (added.type, added.id) == ("webapp.added", f"{version(made)}.added")
    assert (modified.type, modified.id) == ("webapp.modified", f"{version(edited)}.modified")
    assert modified.data["snapshot"]["webapp"]["spec"]["replicas"] == 3
    assert deleted.type == "webapp.deleted"
    assert "snapshot" not in deleted.data
    headers = modified.headers
    assert headers["ce-partitionkey"] == f"{team.namespace}/a"
    assert headers["ce-sequence"] == edited["metadata"]["resourceVersion"].zfill(20)
    assert headers["ce-subject"].endswith(f"/namespaces/{team.namespace}/webapps/a")
    assert headers["traceparent"].split("-")[1] == headers["ce-traceparent"].split("-")[1]


def test_changes_of_children_name_the_webapp_that_owns_them(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    bridges.start()
    webapp = team.make("a")
    sink.wait("a", 1)
    service = team.child(webapp, SERVICE)
    sink.wait("a", 2)
    team.admin.merge(SERVICE, team.namespace, "a", {"spec": {"sessionAffinity": "ClientIP"}})
    sink.wait("a", 3)
    team.admin.delete(SERVICE, team.namespace, "a")
    sink.wait("a", 4)
    assert sink.types("a") == ["webapp.added", "service.added", "service.modified", "service.deleted"]
    last = sink.about("a")[-1]
    assert last.headers["ce-webappuid"] == webapp["metadata"]["uid"]
    assert last.data["object"]["uid"] == service["metadata"]["uid"]
    assert last.data["snapshot"]["owned"] == []


def test_a_change_of_status_alone_makes_no_event_and_is_in_the_next_snapshot(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    bridge = bridges.start()
    team.make("a")
    sink.wait("a", 1)
    team.admin.merge(WEBAPP, team.namespace, "a", {"status": {"replicas": 7}}, "status")
    until(lambda: bridge.figure("webapp_bridge_watch_events_total", decision="status_only") == 1)
    assert sink.types("a") == ["webapp.added"]
    team.edit("a", replicas=2)
    assert sink.wait("a", 2)[1].data["snapshot"]["webapp"]["status"] == {"replicas": 7}


def test_ids_are_the_same_after_a_restart(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    team.make("a")
    for _ in range(2):
        bridge = bridges.start()
        until(lambda: len(sink.about("a")) % 2 == 1 or len(sink.about("a")) == 2)
        bridge.stop()
    assert len({each.id for each in sink.wait("a", 2)}) == 1


def test_what_happened_while_no_bridge_ran_is_covered_by_its_next_start(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    webapp = team.make("a")
    team.child(webapp, SERVICE)
    bridge = bridges.start()
    sink.wait("a", 1)
    bridge.stop()
    team.admin.delete(SERVICE, team.namespace, "a")
    edited = team.edit("a", replicas=5)
    bridges.start()
    last = sink.wait("a", 2)[-1]
    assert (last.id, last.data["snapshot"]["owned"]) == (f"{version(edited)}.sync", [])


def test_a_hundred_edits_in_flight_make_exactly_one_more_event(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    bridge = bridges.start()
    edits = 100

    def wait_for_all(found: Received) -> Reply:
        if found.type == "webapp.added":
            until(lambda: bridge.figure("webapp_bridge_watch_events_total", type="MODIFIED") == edits)
        return Reply()

    sink.answer = wait_for_all
    team.make("a")
    sink.wait("a", 1)
    for number in range(edits):
        last = team.edit("a", replicas=number + 10)
    event = sink.wait("a", 2)[1]
    quiet(team, sink)
    assert (event.id, event.data["coalesced"]) == (f"{version(last)}.modified", edits)
    assert len(sink.about("a")) == 2
    assert sink.most_in_flight["a"] == 1


@pytest.mark.parametrize("before_the_answer", [True, False])
def test_exact_echoes_of_the_functions_writes_make_no_event_and_foreign_changes_do(
    bridges: Bridges, team: Team, sink: ScriptedSink, before_the_answer: bool
) -> None:
    bridge = bridges.start()

    def write(found: Received) -> Reply:
        if found.type != "webapp.added":
            return Reply()
        webapp = team.admin.get(WEBAPP, team.namespace, "a")
        child = team.child(webapp, SERVICE)
        if before_the_answer:
            until(lambda: bridge.figure("webapp_bridge_watch_events_total", kind="Service") == 1)
        return Reply(headers={"webapp-wrote": version(child).replace(".", "/")})

    sink.answer = write
    team.make("a")
    sink.wait("a", 1)
    until(lambda: bridge.figure("webapp_bridge_watch_events_total", kind="Service", type="ADDED") == 1)
    quiet(team, sink)
    assert sink.types("a") == ["webapp.added"]
    team.admin.merge(SERVICE, team.namespace, "a", {"spec": {"sessionAffinity": "ClientIP"}})
    assert sink.wait("a", 2)[1].type == "service.modified"


def test_a_blocked_webapp_is_announced_again_when_the_answer_asks_for_it(
    bridges: Bridges, team: Team, sink: ScriptedSink
) -> None:
    bridges.start()
    sink.answer = lambda found: Reply(headers={"webapp-requeue-after": "1"} if found.type == "webapp.added" else {})
    team.make("a")
    again = sink.wait("a", 2)[1]
    assert (again.type, again.data["reason"]) == ("webapp.sync", "requeue")
    quiet(team, sink)
    assert len(sink.about("a")) == 2


def test_overrides_are_on_every_event(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    bridges.start(K_CE_OVERRIDES='{"extensions":{"region":"eu north"}}')
    team.make("a")
    assert sink.wait("a", 1)[0].headers["ce-region"] == "eu%20north"


def test_a_resync_says_everything_again_under_new_ids(bridges: Bridges, team: Team, sink: ScriptedSink) -> None:
    team.make("a")
    bridges.start(BRIDGE_RESYNC_SECONDS="1")
    first, second, third = sink.wait("a", 3)[:3]
    assert [first.data["reason"], second.data["reason"], third.data["reason"]] == ["sync", "resync", "resync"]
    assert len({first.id, second.id, third.id}) == 3


def test_without_a_sink_it_watches_is_not_ready_and_does_not_crash(bridges: Bridges, team: Team) -> None:
    team.make("a")
    bridge = bridges.start(ready=False, K_SINK="")
    until(lambda: bridge.figure("webapp_bridge_watch_events_total", kind="WebApp") == 1)
    until(lambda: bridge.ask("readyz") == (503, "K_SINK is not set\n"))  # the owned kinds are listed by then
    assert bridge.ask("livez")[0] == 200
    bridge.stop()
