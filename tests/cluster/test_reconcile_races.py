"""Many events at once, in two functions: one state, each child made once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from functions.dev.controlplane import ControlPlane
from functions.webapp.contract import Change
from functions.webapp.resources import DEPLOYMENT, OWNED, SERVICE, SYSTEM_NAMESPACE
from tests.builders import hosted, webapp
from tests.cluster.admin import Admin, Raw
from tests.cluster.sender import RECONCILER, STRUCTURED, Function, Sender, running

THREADS = 20


@pytest.fixture(scope="module")
def second(cluster: ControlPlane) -> Iterator[Function]:
    """Another function beside the shared one, as when Knative scales out."""
    with running(cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, "webapp-reconciler")) as found:
        yield found


def storm(senders: list[Sender], events: list[Raw]) -> list[int]:
    """Send all events at once, in turn to each function; again whatever is answered 503."""
    import json

    def send(number: int) -> int:
        function, body = senders[number % len(senders)].function, json.dumps(events[number]).encode()
        for _ in range(20):
            answer = function.request("POST", "/", body, **STRUCTURED)
            if answer.status != 503:
                return answer.status
        return 503

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(send, range(len(events))))


@pytest.fixture
def both(sender: Sender, second: Function, cluster: ControlPlane, admin: Admin) -> list[Sender]:
    return [sender, Sender(cluster, admin, sender.namespace, second)]


def created(cluster: ControlPlane, since: int) -> list[str]:
    """Kinds that the API server really made."""
    return sorted(
        event["objectRef"]["resource"]
        for event in cluster.audit(RECONCILER, since)
        if event["verb"] == "create" and event["responseStatus"]["code"] == 201
    )


def test_twenty_events_about_a_new_webapp_make_each_child_once(both, cluster):
    sender, since = both[0], cluster.mark()
    sender.apply(webapp(hosted, replicas=0))
    events = [sender.event() if number % 2 else sender.event(None) for number in range(THREADS)]
    assert set(storm(both, events)) == {204}
    assert created(cluster, since) == ["deployments", "ingresses", "services"]
    sender.wait_available()
    sender.settle()
    assert len(sender.snapshot()["owned"]) == 3


def test_old_and_new_events_at_once_end_in_the_newest_spec(both, cluster):
    sender = both[0]
    sender.deploy(webapp(hosted, replicas=0))
    events, since = [], cluster.mark()
    for number in range(5):
        events += [sender.event(), sender.event(None), sender.event(of=DEPLOYMENT, change=Change.DELETED)]
        sender.edit(image=f"nginx:{number}", port=8000 + number)
    events += [sender.event() for _ in range(5)]
    assert set(storm(both, [*events, *reversed(events)])) == {204}
    sender.wait_available()
    sender.settle()
    assert created(cluster, since) == []
    container = sender.child(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]
    assert (container["image"], container["ports"][0]["containerPort"]) == ("nginx:4", 8004)
    assert sender.child(SERVICE)["spec"]["ports"][0]["port"] == 8004
    assert sender.webapp()["status"]["observedGeneration"] == sender.webapp()["metadata"]["generation"]


def test_children_that_vanish_during_a_storm_are_there_at_its_end(both, admin):
    sender = both[0]
    sender.deploy(webapp(hosted, replicas=0))
    events = [sender.event(None) for _ in range(2 * THREADS)]
    with ThreadPoolExecutor(1) as pool:
        vanishing = pool.submit(lambda: [admin.delete(each, sender.namespace, "web") for each in OWNED])
        assert set(storm(both, events)) == {204}
        vanishing.result()
    for resource in OWNED:
        sender.send(of=resource, change=Change.DELETED)
    sender.wait_available()
    sender.settle()
    assert len(sender.snapshot()["owned"]) == 3
