"""Retention: the newest runs of each WebApp stay, what goes is told to watchers first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from functions.aggregation.collection import ChangeType, Selection
from functions.history import pruning
from functions.history.pruning import Pruned
from tests.history.conftest import open_store
from tests.history.runs import NOON, row, rows

FOREVER = timedelta(days=3650)
LATER = NOON + timedelta(hours=2)


def kept(store):
    return sorted(each["metadata"]["name"] for each in store.list(Selection(), 0).objects)


def names(records):
    return sorted(each.name for each in records)


def test_the_newest_runs_of_each_webapp_in_each_namespace_stay(store):
    groups = [rows(8, webapp="a"), rows(3, webapp="b"), rows(8, namespace="other", webapp="a")]
    for group in groups:
        store.append(group)
    assert store.prune(5, FOREVER, NOON) == Pruned(deleted=6)
    assert kept(store) == names([*groups[0][3:], *groups[1], *groups[2][3:]])
    assert store.prune(5, FOREVER, NOON) == Pruned()


def test_what_is_too_old_goes_however_few_there_are(store):
    store.append(rows(10))
    assert store.prune(100, timedelta(seconds=60), NOON + timedelta(seconds=64)).deleted == 4
    assert kept(store) == names(rows(6, 4))


def test_a_watcher_is_told_of_each_row_that_goes_with_a_version_of_its_own(store):
    store.append(rows(10))
    start = store.version()
    store.prune(4, FOREVER, NOON)
    found = store.changes(start, 0).changes
    assert [each.object["metadata"]["name"] for each in found] == [row(number).name for number in range(6)]
    assert {each.type for each in found} == {ChangeType.DELETED}
    versions = [each.version for each in found]
    assert versions == sorted(set(versions))
    assert [each.object["metadata"]["resourceVersion"] for each in found] == list(map(str, versions))


def test_a_watcher_who_was_away_sees_a_row_come_and_go(store):
    start = store.version()
    store.append(rows(3))
    store.prune(2, FOREVER, NOON)
    found = store.changes(start, 0).changes
    assert [each.type for each in found] == [ChangeType.ADDED] * 3 + [ChangeType.DELETED]


def test_a_tombstone_is_no_object_and_is_not_recorded_again(store):
    store.append(rows(3))
    store.prune(2, FOREVER, NOON)
    assert store.get("team", row(0).name) is None
    assert store.append(rows(3)) == 0


def test_tombstones_go_after_their_time_and_not_before(store):
    store.append(rows(10))
    store.prune(4, FOREVER, NOON)
    assert store.prune(4, FOREVER, NOON + pruning.LINGER) == Pruned()
    assert store.prune(4, FOREVER, LATER) == Pruned(removed=6)
    assert store.prune(4, FOREVER, LATER) == Pruned()
    assert kept(store) == names(rows(4, 6))


def test_more_than_one_transaction_holds_are_pruned(store, monkeypatch):
    monkeypatch.setattr(pruning, "MOST", 7)
    store.append(rows(30))
    start = store.version()
    assert store.prune(1, FOREVER, NOON) == Pruned(deleted=29)
    assert [each.object["metadata"]["name"] for each in store.changes(start, 0).changes] == names(rows(29))
    assert store.prune(1, FOREVER, LATER) == Pruned(removed=29)


def test_two_that_prune_at_once_prune_once(url, store):
    store.append(rows(300))
    start = store.version()
    others = [open_store(url) for _ in range(3)]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda each: each.prune(10, FOREVER, NOON), [store, *others]))
    assert sum(each.deleted for each in done) == 290
    found = store.changes(start, 0).changes
    assert len({each.version for each in found}) == len({each.object["metadata"]["uid"] for each in found}) == 290
    for each in others:
        each.close()


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_what_another_prunes_is_left_to_it(store):
    store.append(rows(3))
    with store._dialect.engine.begin() as other:
        assert store._dialect.is_alone(other)
        assert store.prune(1, FOREVER, NOON) == Pruned()
    assert store.prune(1, FOREVER, NOON) == Pruned(deleted=2)


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_tombstone_that_readers_cannot_know_of_yet_is_not_removed(store, postgres):
    import psycopg

    store.append(rows(3))
    start = store.version()
    with psycopg.connect(postgres.url()) as other:
        other.execute("SELECT pg_current_xact_id()")
        assert store.prune(1, FOREVER, NOON).deleted == 2
        assert store.prune(1, FOREVER, LATER).removed == 0
        assert len(store.list(Selection(), 0).objects) == 3
    assert len(store.changes(start, 0).changes) == 2
    assert store.prune(1, FOREVER, LATER).removed == 2
