"""What clients and kube-apiserver itself learn of the history, also while many watch and the database is gone."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import pytest

from functions.dev.cluster import KubectlError
from functions.dev.postgres import Postgres
from functions.dev.processes import ProcessGroup
from functions.history.record import resource
from tests.aggregation.rig import AggregatedApi
from tests.cluster.admin import until
from tests.history.apiserver.conftest import RECONCILES
from tests.history.apiserver.follower import Follower
from tests.history.conftest import open_store
from tests.history.runs import rows

GROUPS = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
WATCHES = 20


def discovered(plane, group):
    """kube-apiserver's aggregated discovery of a group: its versions."""
    answer = plane._http.request("GET", f"{plane.server}/apis", headers={"accept": GROUPS})
    assert answer.headers["content-type"] == GROUPS
    return [each["versions"] for each in answer.json()["items"] if each["metadata"]["name"] == group]


def test_the_resource_is_discovered_everywhere_and_not_stale(plane, history):
    listed = plane.kubectl("api-resources", f"--api-group={RECONCILES.group}", "--no-headers", "-o", "wide").split()
    assert listed == [
        "reconciles",
        "rec",
        RECONCILES.api_version,
        "true",
        "Reconcile",
        "get,list,watch",
        "platform",
    ]
    assert RECONCILES.api_version in plane.kubectl("api-versions").split()
    until(lambda: discovered(plane, RECONCILES.group))
    ((version,),) = discovered(plane, RECONCILES.group)
    assert (version["version"], version["freshness"]) == ("v1alpha1", "Current")
    (found,) = version["resources"]
    assert found["responseKind"] == {"group": RECONCILES.group, "version": "v1alpha1", "kind": "Reconcile"}
    assert (found["scope"], found["shortNames"], found["verbs"]) == ("Namespaced", ["rec"], ["get", "list", "watch"])


def test_kube_apiserver_serves_our_openapi_with_its_own(plane, history):
    until(lambda: f"apis/{RECONCILES.api_version}" in json.loads(plane.kubectl("get", "--raw", "/openapi/v3"))["paths"])
    document = json.loads(plane.kubectl("get", "--raw", f"/openapi/v3/apis/{RECONCILES.api_version}"))
    assert "com.example.platform.history.v1alpha1.Reconcile" in document["components"]["schemas"]


def test_discovery_answers_beside_many_watches_while_rows_come_in(plane, history, store, team):
    store.append(rows(10, namespace=team))
    with ExitStack() as stack:
        followers = [stack.enter_context(Follower(plane, RECONCILES.path(team))) for _ in range(WATCHES)]
        until(lambda: history.metric("webapp_aggregation_watches") >= WATCHES)
        pool = stack.enter_context(ThreadPoolExecutor(1))
        writing = [pool.submit(store.append, rows(20, start, namespace=team)) for start in range(20, 420, 20)]
        urls = [f"{plane.server}{path}" for path in (RECONCILES.root, f"/openapi/v3/{RECONCILES.root[1:]}")]
        assert {plane._http.request("GET", url).status for url in urls * 50} == {200}
        for each in writing:
            each.result()
        for follower in followers:
            until(partial(_has_seen, follower, 410))
            assert set(follower.seen.values()) == {1}
            follower.leave()


def _has_seen(follower, count):
    return len(follower.seen) == count


@pytest.fixture
def failing(plane):
    """One replica over a PostgreSQL that a test may kill, in a group of its own: server, API and store."""
    kind = resource("outage.example.com")
    with Postgres() as server, ProcessGroup() as group:
        url = server.database()
        environ = {"HISTORY_DATABASE_URL": url, "HISTORY_API_GROUP": kind.group}
        with AggregatedApi(plane, group, "outage", kind, "functions.history.apiserver", **environ) as api:
            store = open_store(url)
            yield server, api, store
            store.close()


def test_a_killed_database_is_told_to_those_who_list_and_to_nobody_else(plane, failing, team):
    server, api, store = failing
    path = api.resource.path(team)
    store.append(rows(3, namespace=team))
    with Follower(plane, path) as follower:
        server.kill()
        with pytest.raises(KubectlError, match=r"\(ServiceUnavailable\).*the database of the history is away"):
            plane.kubectl("get", f"reconciles.{api.resource.group}", "-n", team)
        answer = plane._http.request("GET", f"{plane.server}{path}", retries=False)
        assert (answer.status, answer.json()["kind"], "retry-after" in answer.headers) == (503, "Status", False)
        assert plane._http.request("GET", f"{plane.server}{api.resource.root}").status == 200
        until(lambda: api.metric("webapp_aggregation_poll_errors_total") > 1)
        watches = follower.watches
        until(lambda: follower.watches > watches)  # a watch that ends in time begins anew without the database
        condition = "-o=jsonpath={.status.conditions[?(@.type=='Available')].status}"
        assert plane.kubectl("get", "apiservice", api.registration, condition) == "True"
        server.start()
        store.append(rows(3, 10, namespace=team))
        until(lambda: len(follower.seen) == 6)
        assert (follower.lists, follower.types["ERROR"], set(follower.seen.values())) == (1, 0, {1})
