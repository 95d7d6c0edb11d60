"""What is appended is there once, whole, and in the order in which a watcher can follow it."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest
from sqlalchemy import event

from functions.aggregation.collection import ChangeType, Selection
from tests.history.conftest import open_store
from tests.history.runs import row, rows


def names(found):
    return [each["metadata"]["name"] for each in found]


def follow(store, after, limit=0):
    """All changes after a version, page by page."""
    changes = []
    while True:
        found = store.changes(after, limit)
        changes += found.changes
        if found.version == after or len(found.changes) < limit or not limit:
            return changes, found.version
        after = found.version


def test_an_appended_row_is_read_as_an_object(store):
    assert store.append([row(1)]) == 1
    (found,) = store.list(Selection(), 10).objects
    assert found == store.get("team", row(1).name)
    assert found["apiVersion"] == "history.platform.example.com/v1alpha1"
    assert found["metadata"]["labels"] == {"webapp": "web", "outcome": "Converged", "trigger": "webapp.modified"}
    assert found["status"]["startTime"] == "2026-03-01T12:00:01.000000Z"


def test_a_second_delivery_adds_nothing_and_changes_nothing(store):
    assert store.append(rows(3)) == 3
    before = store.list(Selection(), 0).objects
    assert store.append(rows(4)) == 1
    assert store.append([row(9), row(9)]) == 1
    assert store.append([]) == 0
    assert [each for each in store.list(Selection(), 0).objects if each in before] == before
    assert len(store.list(Selection(), 0).objects) == 5


def test_a_batch_may_be_larger_than_a_statement(store):
    start = store.version()
    assert store.append(rows(5000)) == 5000
    assert store.append(rows(5001)) == 1
    found, _ = follow(store, start, 2000)
    assert len({each.version for each in found}) == 5001
    assert names(each.object for each in found) == [each.name for each in rows(5001)]


def test_the_newest_come_first_whenever_they_arrive(store):
    for batch in (rows(2, 10), rows(3), rows(2, 5)):
        store.append(batch)
    found = store.list(Selection(), 0).objects
    assert names(found) == [row(number).name for number in (11, 10, 6, 5, 2, 1, 0)]


def test_the_same_events_from_many_writers_at_once_are_recorded_once(store):
    store.version()
    barrier = threading.Barrier(5)

    def write(seed):
        mine = rows(200)
        random.Random(seed).shuffle(mine)
        barrier.wait()
        return sum(store.append(mine[start : start + 40]) for start in range(0, 200, 40))

    with ThreadPoolExecutor(5) as pool:
        assert sum(pool.map(write, range(5))) == 200
    assert len(store.list(Selection(), 0).objects) == 200


def test_a_follower_misses_nothing_of_many_slow_writers(url, store):
    after, found, done = store.version(), [], threading.Event()
    writers = [open_store(url, HISTORY_STATEMENT_SECONDS="30") for _ in range(4)]
    for number, writer in enumerate(writers):
        dice = random.Random(number)
        event.listen(writer._dialect.engine, "commit", lambda _, dice=dice: time.sleep(dice.random() / 50))

    def write(number):
        for start in range(0, 60, 3):
            writers[number].append(rows(3, start, webapp=f"web-{number}"))

    def read():
        version = after
        while True:
            last = done.is_set()
            changes = store.changes(version, 7)
            found.extend(changes.changes)
            version = changes.version
            if last and not changes.changes:
                return

    with ThreadPoolExecutor(5) as pool:
        reader = pool.submit(read)
        list(pool.map(write, range(4)))
        done.set()
        reader.result()
    versions = [each.version for each in found]
    assert versions == sorted(set(versions))
    assert len(set(names(each.object for each in found))) == len(found) == 240
    for writer in writers:
        writer.close()


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_later_transaction_that_commits_first_is_not_shown_before_the_earlier_one(store):
    dialect, start = store._dialect, store.version()
    with dialect.engine.begin() as slow:
        first = dialect.take(slow, 1)
        slow.execute(dialect.insert(), [{**asdict(row(1)), "version": first}])
        store.append([row(2)])
        seen = store.changes(start, 0)
        assert seen.changes == []
        assert seen.version < first
        assert store.list(Selection(), 0).objects == []
        assert store.get("team", row(2).name) is None
    found = store.changes(seen.version, 0)
    assert names(each.object for each in found.changes) == [row(1).name, row(2).name]
    assert names(store.list(Selection(), 0).objects) == [row(2).name, row(1).name]


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_an_open_transaction_elsewhere_on_the_server_delays_the_view_and_loses_nothing(store, postgres):
    import psycopg

    start = store.version()
    with psycopg.connect(postgres.url()) as other:
        other.execute("SELECT pg_current_xact_id()")
        store.append(rows(3))
        assert store.changes(start, 0).changes == []
    assert len(store.changes(start, 0).changes) == 3


def test_a_transaction_that_fails_leaves_nothing(store):
    store.append(rows(2))

    def fail():
        with store._dialect.engine.begin() as connection:
            first = store._dialect.take(connection, 1)
            connection.execute(store._dialect.insert(), [{**asdict(row(5)), "version": first}])
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail()
    assert store.append([row(5)]) == 1
    assert len(store.list(Selection(), 0).objects) == 3


def test_changes_come_in_parts_of_the_size_asked_for(store):
    start = store.version()
    for number in range(9):
        store.append([row(number)])
    part = store.changes(start, 4)
    assert len(part.changes) == 4
    assert part.version == part.changes[-1].version
    found, _ = follow(store, start, 4)
    assert names(each.object for each in found) == [row(number).name for number in range(9)]
    assert {each.type for each in found} == {ChangeType.ADDED}
    assert [each.object["metadata"]["resourceVersion"] for each in found] == [str(each.version) for each in found]
    assert store.changes(store.version(), 4).changes == []


def test_a_full_last_part_is_followed_by_an_empty_one(store):
    start = store.version()
    store.append(rows(4))
    part = store.changes(start, 4)
    assert len(part.changes) == 4
    assert store.changes(part.version, 4).changes == []
