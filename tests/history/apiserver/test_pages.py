"""Long lists come in pages of one state, whatever is added meanwhile, and a page that is too late is told so."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from functions.dev.cluster import KubectlError
from tests.history.apiserver.conftest import RECONCILES
from tests.history.runs import rows
from tests.meanwhile import Meanwhile

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def append(store, records):
    """In batches, as the recorder writes."""
    for start in range(0, len(records), 100):
        store.append(records[start : start + 100])


class Adding(Meanwhile):
    """Runs that come in all the time, while the block runs."""

    pause = 0.005

    def __init__(self, store, team):
        self._store, self._team = store, team
        self.count = 0

    def again(self):
        self._store.append(rows(5, 100_000 + self.count, namespace=self._team, webapp="late"))
        self.count += 5


def pages(plane, team, limit=500, **parameters):
    """All pages of a list, as raw JSON."""
    query = "".join(f"&{key}={value}" for key, value in parameters.items())
    token = ""
    while True:
        path = f"{RECONCILES.path(team)}?limit={limit}{query}" + (f"&continue={token}" if token else "")
        page = json.loads(plane.kubectl("get", "--raw", path))
        yield page
        token = page["metadata"].get("continue", "")
        if not token:
            return


def test_1200_rows_are_complete_in_pages_of_500_while_rows_are_added(plane, history, store, team):
    wanted = rows(1200, namespace=team)
    append(store, wanted)
    asked = history.metric("webapp_aggregation_requests_total", verb="list", code="200")
    with Adding(store, team) as adding:
        printed = plane.kubectl("get", "rec", "-n", team, "--chunk-size=500", "-o", "name").split()
    assert adding.count > 0
    names = Counter(name.partition("/")[2] for name in printed)
    assert {each.name for each in wanted} <= names.keys()
    assert set(names.values()) == {1}
    asked = history.metric("webapp_aggregation_requests_total", verb="list", code="200") - asked
    assert asked >= 3


def test_the_pages_of_a_list_show_one_state_newest_first(plane, history, store, team):
    append(store, rows(1200, namespace=team))
    found = []
    walk = pages(plane, team)
    with Adding(store, team):
        found.append(next(walk))
        before = store.version()
        while store.version() < before + 1:
            pass
        found += walk
    assert len({page["metadata"]["resourceVersion"] for page in found}) == 1
    items = [item for page in found for item in page["items"]]
    starts = [item["status"]["startTime"] for item in items]
    assert starts == sorted(starts, reverse=True)
    assert len({item["metadata"]["name"] for item in items}) == len(items) >= 1200
    assert [len(page["items"]) for page in found[:-1]] == [500] * (len(found) - 1)


def test_pages_of_a_selection_hold_nothing_else(plane, history, store, team):
    for webapp in ("shop", "blog"):
        append(store, rows(250, namespace=team, webapp=webapp))
    found = list(pages(plane, team, limit=100, labelSelector="webapp%3Dshop"))
    assert [len(page["items"]) for page in found] == [100, 100, 50]
    assert {item["spec"]["webAppRef"]["name"] for page in found for item in page["items"]} == {"shop"}


def test_a_row_that_goes_stays_in_the_pages_of_a_list_that_began_before(plane, history, store, team):
    append(store, rows(30, namespace=team, started_at=LONG_AGO))
    walk = pages(plane, team, limit=10)
    names = [item["metadata"]["name"] for item in next(walk)["items"]]
    store.prune(10**9, timedelta(days=2000), datetime.now(UTC))
    names += [item["metadata"]["name"] for page in walk for item in page["items"]]
    assert len(set(names)) == 30
    assert plane.kubectl("get", "rec", "-n", team, "-o", "name") == ""


def test_a_token_whose_state_is_gone_is_410(plane, history, store, team):
    append(store, rows(30, namespace=team, started_at=LONG_AGO))
    walk = pages(plane, team, limit=10)
    next(walk)
    now = datetime.now(UTC)
    store.prune(10**9, timedelta(days=2000), now)
    store.prune(10**9, timedelta(days=2000), now + timedelta(seconds=1), linger=timedelta(0))
    with pytest.raises(KubectlError, match=r"\(Expired\)"):
        next(walk)


def test_a_token_is_good_for_its_own_list_only(plane, history, store, team):
    append(store, rows(30, namespace=team))
    token = next(pages(plane, team, limit=10))["metadata"]["continue"]
    path = RECONCILES.path(team)
    with pytest.raises(KubectlError, match=r"\(BadRequest\).*other selectors"):
        plane.kubectl("get", "--raw", f"{path}?limit=10&continue={token}&labelSelector=webapp%3Dshop")
    with pytest.raises(KubectlError, match=r"\(BadRequest\).*no token of this server"):
        plane.kubectl("get", "--raw", f"{path}?limit=10&continue=nonsense")
