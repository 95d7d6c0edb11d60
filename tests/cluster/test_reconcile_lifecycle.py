"""Deleted, created again, replayed: no child is made for a WebApp that is not, or that is no longer, there."""

from __future__ import annotations

import pytest

from functions.webapp.contract import Change
from functions.webapp.resources import DEPLOYMENT, MANAGER, OWNED
from tests.builders import hosted, webapp, with_meta
from tests.cluster.admin import WEBAPP, until
from tests.cluster.sender import Sender


@pytest.fixture
def healthy(sender: Sender) -> Sender:
    sender.deploy(webapp(hosted))
    return sender


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_a_deleted_webapp_is_collected_with_its_children_and_nothing_is_made(healthy, policy):
    events = [healthy.event(of=each, change=Change.DELETED) for each in OWNED] + [healthy.event(None)]
    healthy.admin.delete(WEBAPP, healthy.namespace, "web", policy)
    answers = [healthy.post(event) for event in events]
    assert {answer.status for answer in answers} == {204}
    assert {answer.outcome for answer in answers} <= {"gone", "deleting", "unchanged"}
    assert [answer.writes for answer in answers] == [[]] * len(events)
    until(lambda: not any(healthy.children().values()))
    assert healthy.admin.find(WEBAPP, healthy.namespace, "web") is None


def test_a_webapp_that_waits_for_its_finalizers_is_left_alone(healthy):
    healthy.admin.merge(WEBAPP, healthy.namespace, "web", {"metadata": {"finalizers": ["example.org/hold"]}})
    event = healthy.event()
    healthy.admin.delete(WEBAPP, healthy.namespace, "web")
    healthy.admin.delete(DEPLOYMENT, healthy.namespace, "web")
    del event["data"]["snapshot"]
    answer = healthy.post(event)
    assert (answer.outcome, answer.requests) == ("deleting", ["get webapps"])
    assert healthy.send().requests == []
    assert healthy.children()["Deployment"] is None
    healthy.admin.merge(WEBAPP, healthy.namespace, "web", {"metadata": {"finalizers": None}})


def test_a_written_status_leaves_the_rest_of_the_webapp_as_it_is(sender):
    theirs = with_meta(labels={"team": "a"}, annotations={"note": "b"}, finalizers=["example.org/hold"])
    before = sender.apply(webapp(hosted, theirs))
    sender.send()
    after = sender.webapp()
    assert after.pop("status")
    *others, ours = after["metadata"].pop("managedFields")
    assert others == before["metadata"].pop("managedFields")
    assert (ours["manager"], ours["subresource"], list(ours["fieldsV1"])) == (MANAGER, "status", ["f:status"])
    assert after["metadata"].pop("resourceVersion") != before["metadata"].pop("resourceVersion")
    assert after == before
    sender.admin.merge(WEBAPP, sender.namespace, "web", {"metadata": {"finalizers": None}})


def test_orphaned_children_stay_and_are_nobodys(healthy):
    event = healthy.event(of=DEPLOYMENT)
    healthy.admin.delete(WEBAPP, healthy.namespace, "web", "Orphan")
    healthy.admin.wait_gone(WEBAPP, healthy.namespace, "web")
    assert healthy.post(event).writes == []
    for child in healthy.children().values():
        assert child is not None
        assert "ownerReferences" not in child["metadata"]


def test_old_events_do_nothing_to_a_webapp_of_the_same_name(healthy):
    healthy.edit(image="old:1")
    old = [healthy.event(), healthy.event(None), healthy.event(of=DEPLOYMENT, change=Change.DELETED)]
    healthy.admin.delete(WEBAPP, healthy.namespace, "web")
    until(lambda: not any(healthy.children().values()))
    healthy.apply(webapp(image="new:1", replicas=0))
    for event in old:
        answer = healthy.post(event)
        assert (answer.outcome, answer.requests) == ("stale", ["get webapps"])
    assert not any(healthy.children().values())
    healthy.send()
    healthy.wait_available()
    healthy.settle()
    assert healthy.child(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]["image"] == "new:1"
    for event in old:
        assert healthy.post(event).writes == []
    assert healthy.send().requests == []


def test_old_events_do_nothing_to_the_same_webapp_edited_since(healthy):
    old = [healthy.event(), healthy.event(None)]
    for image in ("nginx:1.28", "nginx:1.29"):
        healthy.edit(image=image)
        old += [healthy.event(), healthy.event(None)]
        healthy.send()
    healthy.wait_available()
    healthy.settle()
    before = healthy.snapshot()
    for event in [*old, *reversed(old)]:
        assert healthy.post(event).status == 204
    assert healthy.snapshot() == before


def test_a_webapp_that_is_not_there_costs_one_read(sender):
    event = sender.event(None, uid="")
    answer = sender.post(event)
    assert (answer.outcome, answer.requests) == ("gone", ["get webapps"])
