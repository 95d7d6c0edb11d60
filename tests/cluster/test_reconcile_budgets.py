"""What a reconcile costs: API requests, counted in the API server's audit log."""

from __future__ import annotations

import pytest

from functions.webapp.contract import Change
from functions.webapp.resources import DEPLOYMENT, INGRESS, SERVICE
from tests.builders import asking, hosted, webapp
from tests.cluster.sender import Sender

CREATE = ["create deployments", "create services", "create ingresses", "update webapps/status"]


@pytest.fixture
def healthy(sender: Sender) -> Sender:
    """A WebApp with a host that has nothing left to do."""
    sender.deploy(webapp(hosted))
    return sender


def test_a_new_webapp_with_a_host_costs_one_read_and_four_writes(sender):
    sender.apply(webapp(hosted))
    answer = sender.send()
    assert (answer.status, answer.outcome) == (204, "created")
    assert answer.requests == ["get webapps", *CREATE]
    assert len(answer.headers["webapp-wrote"].split()) == 4


def test_without_a_snapshot_the_children_are_looked_for(sender):
    sender.apply(webapp(hosted))
    answer = sender.send(None)
    assert answer.requests == ["get webapps", "get deployments", "get services", "get ingresses", *CREATE]


def test_a_settled_webapp_costs_nothing(healthy):
    answer = healthy.send()
    assert (answer.status, answer.outcome) == (204, "unchanged")
    assert answer.requests == []
    assert "webapp-wrote" not in answer.headers


def test_a_settled_webapp_without_a_snapshot_costs_reads_alone(healthy):
    answer = healthy.send(None)
    assert answer.requests == ["get webapps", "get deployments", "get services", "get ingresses"]
    assert answer.outcome == "unchanged"


def test_an_image_edit_costs_one_read_one_patch_one_status(healthy):
    healthy.edit(image="nginx:1.28")
    event = healthy.event()
    assert healthy.post(event).requests == ["get webapps", "patch deployments", "update webapps/status"]
    assert healthy.child(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.28"


def test_an_old_event_again_costs_two_reads_and_a_refused_write(healthy):
    healthy.edit(image="nginx:1.28", replicas=0)
    event = healthy.event()
    healthy.post(event)
    healthy.wait_available()
    healthy.settle()
    before = healthy.snapshot()
    again = healthy.post(event)
    assert again.requests == ["get webapps", "patch deployments", "get deployments"]
    assert (again.outcome, healthy.snapshot()) == ("unchanged", before)


def test_a_second_identical_event_right_after_costs_no_write(sender):
    sender.apply(webapp(hosted, asking(replicas=0)))
    sender.send()
    sender.wait_available()
    sender.settle()
    assert sender.send().requests == []


def test_a_change_of_readiness_costs_two_reads_and_one_status(sender):
    sender.apply(webapp(hosted))
    sender.send()
    sender.wait_available()
    answer = sender.send(of=DEPLOYMENT)
    assert answer.requests == ["get webapps", "get deployments", "update webapps/status"]
    assert sender.condition("Ready")[:2] == ("True", "Available")
    assert sender.send().requests == []


def test_a_port_edit_patches_each_child_once(healthy):
    healthy.edit(port=8080)
    answer = healthy.send()
    assert answer.requests == [
        *("get webapps", "patch deployments", "patch services", "patch ingresses", "update webapps/status"),
    ]


def test_a_host_edit_touches_the_ingress_alone(healthy):
    healthy.edit(host="other.example.com")
    answer = healthy.send()
    assert answer.requests == ["get webapps", "patch ingresses", "get deployments", "update webapps/status"]
    assert healthy.child(INGRESS)["spec"]["rules"][0]["host"] == "other.example.com"
    assert healthy.webapp()["status"]["url"] == "http://other.example.com/"
    assert healthy.send().requests == []


def test_a_host_that_is_unset_costs_a_look_before_the_delete(healthy):
    healthy.edit(host=None)
    answer = healthy.send()
    assert answer.requests == [
        *("get webapps", "get ingresses", "delete ingresses", "get deployments", "update webapps/status"),
    ]
    assert healthy.children()["Ingress"] is None
    assert "url" not in healthy.webapp()["status"]
    assert healthy.send().requests == []


def test_a_lost_service_costs_one_read_and_one_write(healthy):
    healthy.admin.delete(SERVICE, healthy.namespace, "web")
    answer = healthy.send(of=SERVICE, change=Change.DELETED)
    assert answer.requests == ["get webapps", "create services"]


def test_a_deleted_webapp_costs_nothing(healthy):
    answer = healthy.send(change=Change.DELETED)
    assert (answer.requests, answer.outcome) == ([], "gone")


def test_the_answer_names_the_versions_that_were_written(healthy):
    healthy.edit(image="nginx:1.28")
    wrote = set(healthy.send().headers["webapp-wrote"].split())
    webapp_now = healthy.webapp()["metadata"]
    assert f"{webapp_now['uid']}/{webapp_now['resourceVersion']}" in wrote
    assert len(wrote) == 2
