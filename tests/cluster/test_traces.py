"""The span tree of each story, as a text file in tests/data/traces; UPDATE_GOLDEN=1 writes the files anew."""

import json
import os
from pathlib import Path

import pytest

from functions.dev.processes import LOOPBACK, free_port
from functions.webapp.contract import Change
from functions.webapp.resources import DEPLOYMENT, INGRESS, SERVICE, SYSTEM_NAMESPACE
from tests.builders import foreign
from tests.cluster.admin import WEBAPP, until
from tests.cluster.traced import NAME, Stage

FOLDER = Path(__file__).parents[1] / "data" / "traces"
MALFORMED = {"ce_specversion": "1.0", "ce_id": "1", "ce_source": "curl", "content_type": "application/json"}
TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"
CURL = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def new_stage(cluster, admin, namespace, tmp_path):
    """Makes the stage; an argument is the share of traces that are recorded by themselves."""
    kubeconfig = cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, "webapp-reconciler")
    return lambda share=1.0: Stage(admin, namespace, kubeconfig, tmp_path, share)


@pytest.fixture
def stage(new_stage):
    made = new_stage()
    with made.running():
        yield made


def same(name: str, found: str) -> None:
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        FOLDER.mkdir(parents=True, exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def structured(stage, **attributes):
    """A recorded event about the WebApp as it is, in structured mode."""
    uid = stage.look()["metadata"]["uid"]
    event = {
        "specversion": "1.0",
        "id": "recorded",
        "type": "com.example.platform.webapp.modified.v1",
        "source": "//platform.example.com/clusters/CLUSTER/platform.example.com/webapps",
        "data": {"webapp": {"namespace": stage.namespace, "name": NAME, "uid": uid}, "reason": "watch"},
        **attributes,
    }
    return json.dumps(event).encode()


def replay(stage, *, header="", **attributes):
    headers = {"content_type": "application/cloudevents+json", "prefer": "return=representation"}
    if header:
        headers["traceparent"] = header
    answer = stage.post(structured(stage, **attributes), **headers)
    assert answer.status == 200, answer.data
    return answer


def test_create(stage):
    stage.publish(Change.ADDED, stage.apply(host="web.example.com"))
    same("create", stage.tree())


def test_event_that_changes_nothing_is_four_spans_and_no_call(stage):
    stage.apply()
    stage.settled()
    stage.publish(Change.MODIFIED)
    same("no-op", stage.tree())


def test_edit(stage):
    stage.apply()
    stage.settled()
    stage.admin.merge(WEBAPP, stage.namespace, NAME, {"spec": {"image": "nginx:1.28"}})
    stage.publish(Change.MODIFIED)
    same("edit", stage.tree())


def test_conflict_is_told_with_both_versions_and_then_succeeds(stage):
    stage.apply()
    stage.settled()
    stage.admin.merge(WEBAPP, stage.namespace, NAME, {"spec": {"image": "nginx:1.28"}})
    seen = stage.state()
    stage.admin.merge(DEPLOYMENT, stage.namespace, NAME, {"metadata": {"labels": {"somebody": "else"}}})
    stage.publish(Change.MODIFIED, seen=seen)
    same("conflict", stage.tree())


def test_conflicts_without_end_fail_the_trace(stage):
    webapp = stage.apply()
    turns = iter(range(100))

    def quicker(call):
        if call.method == "PUT":
            note = {"metadata": {"annotations": {"turn": str(next(turns))}}}
            stage.admin.merge(WEBAPP, stage.namespace, NAME, note)

    stage.before = quicker
    answer = stage.publish(Change.ADDED, webapp)
    assert answer.status == 503
    stage._publisher.close()
    same("conflicts-exhausted", stage.tree())


def test_event_about_an_earlier_webapp_of_that_name_is_stale(stage):
    old = stage.apply()
    seen = stage.state()
    stage.admin.delete(WEBAPP, stage.namespace, NAME)
    stage.admin.wait_gone(WEBAPP, stage.namespace, NAME)
    stage.apply()
    stage.publish(Change.MODIFIED, old, seen=seen)
    same("stale", stage.tree())


def test_readiness_of_a_child_links_back_to_the_reconcile_that_made_it(stage):
    stage.publish(Change.ADDED, stage.apply())
    until(lambda: stage.look(DEPLOYMENT).get("status", {}).get("availableReplicas") == 1)
    stage.publish(Change.MODIFIED, of=DEPLOYMENT)
    same("child-ready", stage.tree())


def test_child_deleted_by_hand_is_made_again(stage):
    stage.apply()
    stage.settled()
    service = stage.look(SERVICE)
    stage.admin.delete(SERVICE, stage.namespace, NAME)
    stage.publish(Change.DELETED, service, SERVICE)
    same("child-deleted", stage.tree())


def test_removed_host_removes_the_ingress(stage):
    stage.apply(host="web.example.com")
    stage.settled()
    stage.admin.merge(WEBAPP, stage.namespace, NAME, {"spec": {"host": None}})
    stage.publish(Change.MODIFIED)
    assert stage.admin.find(INGRESS, stage.namespace, NAME) is None
    same("host-removed", stage.tree())


def test_name_conflict(stage):
    stage.admin.create(SERVICE, foreign(SERVICE, NAME, stage.namespace))
    stage.publish(Change.ADDED, stage.apply())
    same("name-conflict", stage.tree())


def test_malformed_event_has_no_reconcile(stage):
    assert stage.post(b"{}", **MALFORMED).status == 400
    same("malformed", stage.tree())


def test_api_server_that_is_down(new_stage):
    stage = new_stage()
    webapp = stage.apply()
    with stage.running(server=f"https://{LOOPBACK}:{free_port()}"):
        assert stage.publish(Change.ADDED, webapp).status == 503
    same("api-down", stage.tree())


def test_replay_by_curl_is_a_trace_of_its_own_that_links_to_the_recorded_one(stage):
    stage.apply()
    stage.settled()
    replay(stage, traceparent=TRACEPARENT + "01")
    same("replay", stage.tree())


def test_replay_by_curl_with_a_traceparent_of_its_own_continues_that(stage):
    stage.apply()
    stage.settled()
    replay(stage, header=CURL, traceparent=TRACEPARENT + "01")
    same("replay-with-traceparent", stage.tree())


def test_cold_start_is_linked_from_the_first_request_alone(new_stage):
    stage = new_stage()
    webapp = stage.apply()
    with stage.running(cold=True):
        stage.publish(Change.ADDED, webapp)
        first = stage.tree()
        stage.publish(Change.MODIFIED)
        assert "init" not in stage.tree()
    same("cold-start", first)


def test_hop_that_drops_the_sampled_flag_does_not_lose_the_trace(new_stage):
    stage = new_stage(share=0.0)
    stage.apply()
    with stage.running():
        body = structured(stage, traceparent=TRACEPARENT + "01")
        headers = {"content_type": "application/cloudevents+json"}
        assert stage.post(body, traceparent=TRACEPARENT + "00", **headers).status == 204
        found = stage.tree()
        stage.post(structured(stage, traceparent=TRACEPARENT + "00"), traceparent=TRACEPARENT + "00", **headers)
        assert not stage.kept.get_finished_spans()
    same("unsampled-hop", found)
