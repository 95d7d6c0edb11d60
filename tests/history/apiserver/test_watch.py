"""Every run is seen once, on whichever replica, through restarts and after a 410."""

import http.client
import json
import os
import socket
import ssl
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from functions.dev.processes import LOOPBACK
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.aggregation.rig import Following
from tests.cluster.admin import until
from tests.history.apiserver.conftest import RECONCILES
from tests.history.apiserver.follower import Follower
from tests.history.runs import row, rows

MANY = 10_000 if os.environ.get("CI") else 4_000
INITIAL = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def watched(plane, team, query):
    """The events of a raw watch that ends by itself."""
    answer = plane.kubectl("get", "--raw", f"{RECONCILES.path(team)}?watch=1&timeoutSeconds=1&{query}")
    return [json.loads(line) for line in answer.splitlines()]


def told(events):
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


def test_kubectl_shows_each_new_run_once_on_either_replica(plane, history, store, team):
    store.append(rows(3, namespace=team))
    until(lambda: not history.metric("webapp_aggregation_watches"))
    with ExitStack() as stack:
        following = [
            stack.enter_context(Following(plane, "get", "rec", "-n", team, "-w", "--no-headers")) for _ in range(4)
        ]
        until(lambda: all(len(each.lines()) == 3 for each in following))
        until(lambda: all(_watches(health) >= 1 for health in history.backends.values()))
        for number in range(3, 23):
            store.append([row(number, namespace=team)])
        until(lambda: all(len(each.lines()) >= 23 for each in following))
        for each in following:
            names = Counter(line.split()[0] for line in each.lines())
            assert names == Counter(row(number, namespace=team).name for number in range(23))


def _watches(health):
    connection = http.client.HTTPConnection(LOOPBACK, health)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("webapp_aggregation_watches "))


def test_a_watch_is_answered_before_anything_happens(plane, history, store, team):
    path = f"{RECONCILES.path(team)}?watch=1&timeoutSeconds=600&resourceVersion={store.version()}"
    answer = plane._http.request("GET", plane.server + path, preload_content=False, timeout=20, retries=False)
    assert answer.status == 200
    answer.close()


def test_a_watch_of_selected_runs_shows_no_others(plane, history, store, team):
    with history.following("get", "rec", "-n", team, "-w", "-l", "webapp in (shop)", "-o", "name") as following:
        store.append([row(0, namespace=team, webapp="blog"), row(1, namespace=team, webapp="shop")])
        until(following.lines)
    assert [line.partition("/")[2] for line in following.lines()] == [row(1, namespace=team, webapp="shop").name]


def test_many_runs_of_many_writers_are_each_seen_once_through_restarts(plane, history, store, team):
    store.append(rows(10, 1_000_000, namespace=team))

    def write(part):
        count = MANY // 4
        for start in range(0, count, 20):
            store.append(rows(20, part * count + start, namespace=team, webapp=f"web-{part}"))

    with Follower(plane, RECONCILES.path(team)) as follower, ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(write, part) for part in range(4)]
        history.restart()
        for each in writing:
            each.result()
        until(lambda: len(follower.seen) == MANY + 10, 60)
    assert set(follower.seen.values()) == {1}
    assert follower.watches > 2
    assert (follower.lists, follower.types["ERROR"]) == (1, 0)


def test_kubectl_ends_its_watch_when_its_replica_drains(plane, history, store, team):
    with history.following("get", "rec", "-n", team, "-w") as following:
        (port,) = (port for port, health in history.backends.items() if _watches(health))
        history.start()
        history.stop(port)
        assert following.wait_ended() == 0


def test_initial_events_end_with_their_bookmark(plane, history, store, team):
    store.append(rows(3, namespace=team))
    *added, bookmark, last = watched(plane, team, INITIAL)
    assert told(added) == [("ADDED", row(number, namespace=team).name) for number in (2, 1, 0)]
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(bookmark["object"]["metadata"]["resourceVersion"]) >= max(
        int(event["object"]["metadata"]["resourceVersion"]) for event in added
    )
    assert (last["type"], "annotations" in last["object"]["metadata"]) == ("BOOKMARK", False)


def test_a_run_that_is_pruned_is_deleted_for_watches(plane, history, store, team):
    store.append(rows(2, namespace=team, started_at=LONG_AGO))
    store.append(rows(1, 7, namespace=team))
    version = store.version()
    store.prune(10**9, timedelta(days=2000), datetime.now(UTC))
    events = watched(plane, team, f"resourceVersion={version}")
    assert [event["type"] for event in events] == ["DELETED", "DELETED"]
    assert all(int(event["object"]["metadata"]["resourceVersion"]) > version for event in events)


def test_a_watch_from_a_version_that_is_gone_is_told_to_list_again(plane, history, store, team):
    store.append(rows(2, namespace=team, started_at=LONG_AGO))
    version = store.version()
    now = datetime.now(UTC)
    store.prune(10**9, timedelta(days=2000), now)
    store.prune(10**9, timedelta(days=2000), now + timedelta(seconds=1), linger=timedelta(0))
    (event,) = watched(plane, team, f"resourceVersion={version - 1}")
    assert (event["type"], event["object"]["reason"], event["object"]["code"]) == ("ERROR", "Expired", 410)
    with Follower(plane, RECONCILES.path(team)) as follower:
        follower.version = str(version - 1)
        store.append(rows(3, namespace=team))
        until(lambda: len(follower.seen) == 3)


def test_a_client_that_does_not_read_is_cut_off(plane, history, store, team):
    port, health = next(iter(history.backends.items()))
    with connected(plane, history, port) as connection:
        path = f"{RECONCILES.path(team)}?watch=1&resourceVersion={store.version()}"
        headers = "X-Remote-User: admin\r\nX-Remote-Group: system:masters\r\nHost: h\r\n"
        connection.sendall(f"GET {path} HTTP/1.1\r\n{headers}\r\n".encode())
        until(lambda: _watches(health) == 1)
        message = "x" * 1000
        for start in range(0, 12_000, 400):
            store.append(rows(400, start, namespace=team, reason=message))
        until(lambda: _watches(health) == 0, 60)


def connected(plane, history, port):
    """A connection that proves to be kube-apiserver's, with small buffers."""
    pair = plane.authorities.front_proxy.issue("front-proxy-client", hosts=["direct"])
    context = ssl.create_default_context(cafile=history.authority.certificate)
    context.load_cert_chain(pair.certificate, pair.key)
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.connect((LOOPBACK, port))
    return context.wrap_socket(plain, server_hostname=f"webapp-history.{SYSTEM_NAMESPACE}.svc")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("resourceVersion=abc", "resourceVersion: 'abc'"),
        ("sendInitialEvents=true", "sendInitialEvents: needs resourceVersionMatch=NotOlderThan"),
        ("fieldSelector=status.phase%3Dx", "fieldSelector: field label not supported"),
    ],
)
def test_a_bad_watch_is_a_bad_request(plane, history, team, query, told):
    answer = plane._http.request("GET", f"{plane.server}{RECONCILES.path(team)}?watch=1&{query}")
    assert (answer.status, answer.json()["reason"]) == (400, "BadRequest")
    assert answer.json()["message"].startswith(told)
