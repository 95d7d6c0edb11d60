"""Events that lie about the WebApp, or about whose an object is: no foreign object is written, no false spec taken."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from functions.webapp.resources import DEPLOYMENT, INGRESS, OWNED
from tests.builders import foreign, hosted, webapp
from tests.cluster.admin import WEBAPP
from tests.cluster.sender import Sender

TAGS = count(2)
NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def plain(shared: Sender) -> Sender:
    """A healthy WebApp."""
    shared.deploy(webapp(hosted, replicas=0))
    return shared


@pytest.mark.parametrize(
    ("path", "as_"),
    [
        ("spec.image", "evil:1"),
        ("spec.host", "evil.example.com"),
        ("spec.host", ...),
        ("spec.replicas", 7),
        ("spec.port", 0),
        ("spec.paused", True),
        ("spec", "evil"),
        ("status", {"observedGeneration": 99}),
        ("status", []),
        ("status.conditions", [{"type": []}, {"type": "Ready", "status": {}}, 5]),
        ("status.url", "http://evil.example.com/"),
        ("metadata.generation", 99),
        ("metadata.generation", "evil"),
        ("metadata.resourceVersion", "1"),
        ("metadata.uid", NOBODY),
        ("metadata.name", "evil"),
        ("metadata.namespace", "kube-system"),
        ("metadata.labels", {"evil": "1"}),
        ("metadata.deletionTimestamp", "2026-03-01T09:30:00Z"),
    ],
)
def test_a_lie_about_the_webapp_reaches_no_object(plain, path, as_):
    plain.edit(image=f"nginx:{next(TAGS)}")
    told, before = plain.snapshot(), plain.webapp()
    *above, last = path.split(".")
    found: Any = told["webapp"]
    for step in above:
        found = found[step]
    if as_ is ...:
        del found[last]
    else:
        found[last] = as_
    assert plain.send(told, uid=before["metadata"]["uid"]).status == 204
    after = plain.snapshot()
    assert "evil" not in str(after)
    assert len(after["owned"]) == 3
    assert after["webapp"]["spec"] == before["spec"]
    plain.settle()
    deployment = plain.child(DEPLOYMENT)["spec"]
    assert deployment["template"]["spec"]["containers"][0]["image"] == before["spec"]["image"]
    assert deployment["replicas"] == 0
    assert plain.webapp()["status"]["observedGeneration"] == before["metadata"]["generation"]


def test_an_event_about_another_uid_is_stale_and_changes_nothing(plain):
    answer = plain.send(uid=NOBODY)
    assert (answer.status, answer.outcome) == (204, "stale")
    assert answer.requests == ["get webapps"]


def test_a_snapshot_of_another_webapp_is_not_used(plain):
    plain.settle()
    other, mine = plain.snapshot(), plain.webapp()
    other["webapp"]["metadata"]["uid"] = NOBODY
    answer = plain.send(other, uid=mine["metadata"]["uid"])
    assert answer.requests == ["get webapps", "get deployments", "get services", "get ingresses"]


def test_a_copy_of_a_child_under_another_name_does_not_stand_in_for_it(plain):
    plain.settle()
    told = plain.snapshot()
    deployment = next(each for each in told["owned"] if each["kind"] == "Deployment")
    copied = {**deployment, "metadata": {**deployment["metadata"], "name": "aaa"}}
    assert plain.send({**told, "owned": [copied, *told["owned"]]}).requests == []


@pytest.mark.parametrize("resource", OWNED, ids=lambda each: each.kind)
@pytest.mark.parametrize("controller", [None, False], ids=["not-an-owner", "owner-that-does-not-control"])
def test_a_foreign_object_that_is_said_to_be_ours_is_not_written(sender, resource, controller):
    mine = sender.apply(webapp(hosted, replicas=0))
    reference = {"apiVersion": WEBAPP.api_version, "kind": "WebApp", "name": "web", "uid": mine["metadata"]["uid"]}
    theirs = foreign(resource, "web", sender.namespace)
    if controller is not None:
        theirs["metadata"]["ownerReferences"] = [{**reference, "controller": controller}]
    sender.admin.create(resource, theirs)
    before = sender.child(resource)
    owned = {"ownerReferences": [{**reference, "controller": True}]}
    told = {**before, "metadata": {**before["metadata"], **owned}}
    assert sender.send({"webapp": mine, "owned": [told]}).status == 204
    after = sender.child(resource)
    assert (after["spec"], after["metadata"].get("labels")) == (before["spec"], before["metadata"].get("labels"))
    assert sender.condition("Ready")[:2] == ("False", "NameConflict")


def test_a_foreign_ingress_that_is_said_to_be_ours_is_not_deleted(sender):
    mine = sender.apply(webapp(replicas=0))
    sender.admin.create(INGRESS, foreign(INGRESS, "web", sender.namespace))
    before = sender.child(INGRESS)
    reference = {"kind": "WebApp", "uid": mine["metadata"]["uid"], "controller": True}
    told = {**before, "metadata": {**before["metadata"], "ownerReferences": [reference]}}
    answer = sender.send({"webapp": mine, "owned": [told]})
    assert "delete ingresses" not in answer.requests
    assert sender.child(INGRESS) == before
    assert sender.condition("Degraded")[1] == "AsExpected"


@pytest.mark.parametrize("name", ["..", ".", "-", "a..b", "web/../other", "web?x", "Web", "", "a" * 254, "web\n"])
@pytest.mark.parametrize("part", ["namespace", "name"])
def test_a_name_that_is_none_is_refused(plain, name, part):
    event = plain.event(None, uid="")
    event["data"]["webapp"][part] = name
    answer = plain.post(event)
    assert (answer.status, answer.requests) == (400, [])
    assert answer.json["field"] == f"data.webapp.{part}"
