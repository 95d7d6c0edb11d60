"""Pages show one state, whatever is written, pruned and removed meanwhile; what is no longer kept is Expired."""

from __future__ import annotations

from datetime import timedelta

import pytest

from functions.aggregation.collection import Selection
from functions.aggregation.selectors import FieldRequirement
from functions.aggregation.status import BadRequest, Expired
from tests.history.runs import NOON, row, rows

FOREVER = timedelta(days=3650)


def test_pages_stay_complete_and_without_doubles_while_rows_come_and_go(store):
    for app in ("a", "b", "c"):
        store.append(rows(40, webapp=app))
    expected = [each["metadata"]["name"] for each in store.list(Selection(), 0).objects]
    page = store.list(Selection(), 7)
    version, found = page.version, list(page.objects)
    turn = 0
    while page.more:
        turn += 1
        store.append(rows(5, turn * 5, webapp="late"))
        store.append(rows(2, 100 + turn * 2, webapp="b"))
        store.prune(30 - turn, FOREVER, NOON)
        page = store.list(Selection(), 7, version, page.more)
        assert page.version == version
        found += page.objects
    assert [each["metadata"]["name"] for each in found] == expected
    assert turn == 17


def test_a_last_page_that_is_full_says_that_it_is_the_last(store):
    store.append(rows(10))
    first = store.list(Selection(), 5)
    second = store.list(Selection(), 5, first.version, first.more)
    assert (bool(first.more), second.more) == (True, "")


def test_pages_of_a_selection_hold_nothing_else(store):
    store.append(rows(9, webapp="a"))
    store.append(rows(9, webapp="b"))
    store.append(rows(9, namespace="other", webapp="a"))
    asked = Selection("team", fields=(FieldRequirement("spec.webAppRef.name", True, "a"),))
    page = store.list(asked, 4)
    found = list(page.objects)
    while page.more:
        page = store.list(asked, 4, page.version, page.more)
        found += page.objects
    assert len(found) == 9
    assert {(each["metadata"]["namespace"], each["spec"]["webAppRef"]["name"]) for each in found} == {("team", "a")}


def test_runs_that_began_in_the_same_microsecond_are_each_on_one_page(store):
    store.append([row(number, started_at=NOON) for number in range(25)])
    page = store.list(Selection(), 4)
    found = list(page.objects)
    while page.more:
        page = store.list(Selection(), 4, page.version, page.more)
        found += page.objects
    assert len({each["metadata"]["uid"] for each in found}) == len(found) == 25


def test_what_was_removed_for_good_takes_the_versions_before_it_along(store):
    start = store.version()
    store.append(rows(10))
    page = store.list(Selection(), 4)
    assert store.prune(6, FOREVER, NOON).deleted == 4
    pruned = store.version()
    store.append([row(20)])
    kept = store.list(Selection(), 4, pruned)
    assert store.prune(100, FOREVER, NOON + timedelta(hours=2)).removed == 4
    with pytest.raises(Expired):
        store.list(Selection(), 4, page.version, page.more)
    with pytest.raises(Expired):
        store.changes(start, 0)
    with pytest.raises(Expired):
        store.changes(page.version, 0)
    assert len(store.changes(pruned, 0).changes) == 1
    assert store.list(Selection(), 4, pruned).objects == kept.objects


def test_a_version_that_this_database_has_never_given_is_expired(store):
    future = store.version() + 2**40
    with pytest.raises(Expired):
        store.changes(future, 0)
    with pytest.raises(Expired):
        store.list(Selection(), 4, future)


def test_a_version_from_before_the_database_is_expired(store):
    store.append([row(1)])
    with pytest.raises(Expired):
        store.changes(1, 0)
    with pytest.raises(Expired):
        store.list(Selection(), 1, 1)


@pytest.mark.parametrize("after", ["x", "1", "9" * 40 + ".u", "1.\0", "-1.u", "1.ü", "."])
def test_a_position_that_was_never_given_out_is_a_bad_request(store, after):
    store.append([row(1)])
    if after == "1":
        assert store.list(Selection(), 1, store.version(), after).objects == []
        return
    with pytest.raises(BadRequest, match="continue"):
        store.list(Selection(), 1, store.version(), after)
