"""Whatever is appended, pruned and removed in whatever order: every version still kept shows what it showed then."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import delete

from functions.aggregation.collection import ChangeType, Selection
from functions.aggregation.status import Expired
from functions.history.record import Record
from functions.history.schema import reconciles
from functions.history.store import Store
from tests.history.runs import NOON, row

FOREVER = timedelta(days=3650)
APPS = st.sampled_from(["a", "b", "c"])
THOROUGH = bool(os.environ.get("CI"))


class History(RuleBasedStateMachine):
    store: Store

    def __init__(self):
        super().__init__()
        self.store.version()
        with self.store._dialect.engine.begin() as connection:
            connection.execute(delete(reconciles))
        self.alive: dict[str, Record] = {}
        self.snapshots: dict[int, dict[str, Record]] = {self.store.version(): {}}
        self.clock = NOON
        self.pruned_at, self.gone = 0, list[int]()

    def seen(self):
        self.snapshots[self.store.version()] = dict(self.alive)

    @rule(app=APPS, numbers=st.lists(st.integers(0, 30), min_size=1, max_size=6))
    def append(self, app, numbers):
        records = [row(number, webapp=app) for number in numbers]
        fresh = {each.uid: each for each in records if each.uid not in self.known()}
        assert self.store.append(records) == len(fresh)
        self.alive |= fresh
        self.seen()

    def known(self):
        return {uid for snapshot in self.snapshots.values() for uid in snapshot}

    @rule(runs=st.integers(1, 6))
    def prune(self, runs):
        kept: dict[str, Record] = {}
        for app in {each.webapp for each in self.alive.values()}:
            mine = [each for each in self.alive.values() if each.webapp == app]
            mine.sort(key=lambda each: (each.started, each.uid), reverse=True)
            kept |= {each.uid: each for each in mine[:runs]}
        done = self.store.prune(runs, FOREVER, self.clock, linger=timedelta(days=365))
        assert done.deleted == len(self.alive) - len(kept)
        self.alive = kept
        self.seen()
        if done.deleted:
            self.pruned_at = max(self.snapshots)

    @rule()
    def remove(self):
        done = self.store.prune(1000, FOREVER, self.clock + timedelta(hours=2), linger=timedelta(hours=1))
        if done.removed:
            self.gone += [version for version in self.snapshots if version < self.pruned_at]
            self.snapshots = {at: shown for at, shown in self.snapshots.items() if at >= self.pruned_at}

    @rule(size=st.integers(1, 5), data=st.data())
    def page(self, size, data):
        at = data.draw(st.sampled_from(sorted(self.snapshots)))
        found, after = [], ""
        while True:
            page = self.store.list(Selection(), size, at, after)
            found += page.objects
            after = page.more
            if not after:
                break
        expected = sorted(self.snapshots[at].values(), key=lambda each: (each.started, each.uid), reverse=True)
        assert [each["metadata"]["name"] for each in found] == [each.name for each in expected]

    @rule(size=st.integers(1, 5), data=st.data())
    def watch(self, size, data):
        after = data.draw(st.sampled_from(sorted(self.snapshots)))
        shown = set(self.snapshots[after])
        last = after
        while True:
            found = self.store.changes(last, size)
            for change in found.changes:
                assert last < change.version <= found.version
                last, uid = change.version, change.object["metadata"]["uid"]
                assert (uid in shown) is (change.type is ChangeType.DELETED)
                shown ^= {uid}
            if not found.changes:
                break
        assert shown == set(self.alive)

    @invariant()
    def the_past_is_closed(self):
        for version in self.gone[-3:]:
            with pytest.raises(Expired):
                self.store.changes(version, 1)
            with pytest.raises(Expired):
                self.store.list(Selection(), 1, version)

    @invariant()
    def the_present_is_right(self):
        found = {each["metadata"]["uid"] for each in self.store.list(Selection(), 0).objects}
        assert found == set(self.alive)


def test_every_version_that_is_kept_shows_what_it_showed(store):
    run_state_machine_as_test(
        type("OnThisStore", (History,), {"store": store}),
        settings=settings(
            max_examples=100 if THOROUGH else 15,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
