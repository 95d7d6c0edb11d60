"""The API server slow, broken or refusing, one fault at a time: the sender has to try again, and nothing is doubled."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from functions.dev.controlplane import ControlPlane
from functions.webapp.resources import DEPLOYMENT, INGRESS, SYSTEM_NAMESPACE
from tests.builders import hosted, webapp
from tests.cluster.admin import WEBAPP, Admin, until
from tests.cluster.sender import Sender, running
from tests.faults.proxy import LOST, RESET, Fault, Proxy, Request, proxied

Faulty = tuple[Sender, Proxy]
STATUS = b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"%b","code":%d}'


@pytest.fixture(scope="module")
def route(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Path]]:
    """A proxy, and how to go through it as the reconciler."""
    straight = cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, "webapp-reconciler")
    with proxied(straight, tmp_path_factory.mktemp("proxy")) as found:
        yield found


@pytest.fixture(scope="module")
def faulty(route: tuple[Proxy, Path], cluster: ControlPlane, admin: Admin) -> Iterator[Callable[[str], Sender]]:
    """One function behind the proxy for the whole file, with two seconds for each event."""
    with running(route[1], RECONCILE_DEADLINE_SECONDS="2") as function:
        yield lambda namespace: Sender(cluster, admin, namespace, function)


@pytest.fixture
def sender(faulty: Callable[[str], Sender], namespace: str) -> Sender:
    return faulty(namespace)


@pytest.fixture
def proxy(route: tuple[Proxy, Path]) -> Iterator[Proxy]:
    route[0].reset()
    yield route[0]
    route[0].reset()


def nth(number: int, fault: Fault) -> Callable[[Request], Fault | None]:
    """That fault at the nth request, once."""
    return lambda request: fault if request.number == number else None


def assert_whole(sender: Sender) -> None:
    """Everything is there once, serves, and needs nothing."""
    sender.wait_available()
    sender.settle()
    owned = sender.snapshot()["owned"]
    kinds = ["Deployment", "Service", *(["Ingress"] if "host" in sender.webapp()["spec"] else [])]
    assert [child["kind"] for child in owned] == kinds
    assert sender.condition("Degraded")[:2] == ("False", "AsExpected")
    assert sender.webapp()["status"]["observedGeneration"] == sender.webapp()["metadata"]["generation"]


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        (RESET, "1"),
        (Fault(status=429, headers={"retry-after": "7"}, body=STATUS % (b"TooManyRequests", 429)), "7"),
        (Fault(status=500, body=STATUS % (b"InternalError", 500)), "1"),
        (Fault(status=502, body=b"<html>bad gateway"), "1"),
        (Fault(status=503, body=STATUS % (b"ServiceUnavailable", 503)), "1"),
        (Fault(status=504, body=STATUS % (b"Timeout", 504)), "1"),
        (Fault(status=401, body=STATUS % (b"Unauthorized", 401)), "1"),
        (Fault(status=200, body=b"not JSON"), "1"),
        (Fault(status=302, headers={"location": "/elsewhere"}), "1"),
    ],
    ids=["reset", "429", "500", "502", "503", "504", "401", "no JSON", "302"],
)
@pytest.mark.parametrize("number", [1, 2, 5], ids=["at the read", "at the first write", "at the status"])
def test_a_fault_of_the_api_is_for_the_sender_to_try_again(sender, proxy, fault, seconds, number):
    sender.apply(webapp(hosted, replicas=0))
    proxy.reset(nth(number, fault))
    event = sender.event()
    answer = sender.post(event)
    assert (answer.status, answer.headers["retry-after"]) == (503, seconds)
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(proxy.seen) == number  # no call after the fault, and no hidden retry
    assert sender.post(event).status == 204
    assert_whole(sender)


def test_an_api_that_is_too_slow_is_for_the_sender_to_try_again(sender, proxy):
    sender.apply(webapp(hosted, replicas=0))
    gate = threading.Event()
    proxy.reset(nth(3, Fault(until=gate)))
    event = sender.event()
    answer = sender.post(event)
    assert (answer.status, answer.json["title"]) == (503, "api_unavailable")
    gate.set()
    assert sender.post(event).status == 204
    assert_whole(sender)


def sweep(sender: Sender, proxy: Proxy, prepare: Callable[[], object]) -> int:
    """Lose the answer to each write in turn, with the event sent until it is accepted; how many writes there were."""
    number = 0
    while True:
        number += 1
        prepare()
        lost: list[Request] = []

        def lose(request: Request, number: int = number, lost: list[Request] = lost) -> Fault | None:
            lost += [request] if request.writes else []
            return LOST if request.writes and len(lost) == number else None

        event = sender.event()
        proxy.reset(lose)
        status = sender.post(event).status
        proxy.reset()
        if status == 503:
            assert sender.post(event).status == 204
        assert_whole(sender)
        if len(lost) < number:
            return number - 1


def test_no_lost_answer_of_a_create_doubles_or_loses_anything(sender, proxy):
    def prepare() -> None:
        if sender.admin.find(WEBAPP, sender.namespace, "web"):
            sender.admin.delete(WEBAPP, sender.namespace, "web")
            until(lambda: not any(sender.children().values()))
        sender.apply(webapp(hosted, replicas=0))

    assert sweep(sender, proxy, prepare) == 4


def test_no_lost_answer_of_an_edit_doubles_or_loses_anything(sender, proxy):
    sender.deploy(webapp(hosted, replicas=0))
    ports = iter(range(8000, 9000))
    assert sweep(sender, proxy, lambda: sender.edit(port=next(ports))) == 4


def test_no_lost_answer_of_a_removed_host_doubles_or_loses_anything(sender, proxy):
    sender.deploy(webapp(hosted, replicas=0))

    def prepare() -> None:
        sender.edit(host="web.example.com")
        sender.settle()
        sender.edit(host=None)

    assert sweep(sender, proxy, prepare) == 2
    assert sender.children()["Ingress"] is None


def test_an_edit_between_read_and_status_is_acted_on_in_the_same_run(sender, proxy):
    sender.deploy(webapp(replicas=0))
    sender.edit(image="nginx:1.28")

    def interfere(request: Request) -> None:
        if request.method == "PATCH" and len(proxy.seen) == 2:
            sender.edit(image="nginx:1.29")

    proxy.reset(interfere)
    answer = sender.send()
    assert answer.status == 204
    assert sender.child(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.29"
    assert_whole(sender)


def test_a_child_that_changes_before_the_delete_is_looked_at_again(sender, proxy):
    sender.deploy(webapp(hosted, replicas=0))
    sender.edit(host=None)
    meddled: list[str] = []

    def interfere(request: Request) -> None:
        if request.method == "DELETE" and not meddled:
            meddled.append(request.path)
            sender.admin.merge(INGRESS, sender.namespace, "web", {"metadata": {"labels": {"new": "1"}}})

    proxy.reset(interfere)
    answer = sender.send()
    assert answer.status == 204
    assert answer.requests.count("delete ingresses") == 2
    assert_whole(sender)


def test_conflicts_without_end_are_for_the_sender_to_try_again(sender, proxy):
    sender.deploy(webapp(replicas=0))
    sender.edit(image="nginx:1.28")
    event = sender.event()

    def interfere(request: Request) -> None:
        if request.method == "PATCH":
            notes = {"metadata": {"annotations": {"n": str(request.number)}}}
            sender.admin.merge(DEPLOYMENT, sender.namespace, "web", notes)

    proxy.reset(interfere)
    answer = sender.post(event)
    assert (answer.status, answer.json["title"]) == (503, "conflicts_exhausted")
    assert answer.requests.count("patch deployments") == 5
    proxy.reset()
    assert sender.post(event).status == 204
    assert_whole(sender)


def test_a_request_that_runs_at_sigterm_still_gets_its_answer(route, cluster, admin, namespace, proxy):
    gate = threading.Event()
    with running(route[1]) as function, ThreadPoolExecutor(1) as pool:
        sender = Sender(cluster, admin, namespace, function)
        sender.apply(webapp(hosted, replicas=0))
        proxy.reset(lambda request: Fault(until=gate) if request.writes else None)
        answer = pool.submit(sender.send)
        until(lambda: any(request.writes for request in proxy.seen))
        function.process.signal(signal.SIGTERM)
        until(lambda: not function.ready())
        assert function.process.returncode is None
        gate.set()
        assert answer.result(timeout=20).outcome == "created"
        assert function.process.wait(20) == 0
    assert len(sender.snapshot()["owned"]) == 3
