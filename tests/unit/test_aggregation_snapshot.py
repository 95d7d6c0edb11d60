"""A source that can only be read whole, followed by comparing."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.aggregation.collection import ChangeType, Selection
from functions.aggregation.selectors import FieldRequirement
from functions.aggregation.snapshot import Snapshot
from functions.aggregation.status import Expired, Unavailable


class Source:
    """Objects by namespace and name, each with one number; the clock runs by a microsecond for each look at it."""

    def __init__(self, **more):
        self.numbers = {}
        self.away = False
        ticks = itertools.count(1000)
        self.snapshot = Snapshot(self._read, lambda: next(ticks) * 1000, **more)

    def _read(self):
        if self.away:
            raise Unavailable("the source is away")
        for (namespace, name), number in self.numbers.items():
            yield {"metadata": {"namespace": namespace, "name": name}, "spec": {"number": number}}


def state(page):
    return {(each["metadata"]["namespace"], each["metadata"]["name"]): each["spec"]["number"] for each in page.objects}


@pytest.fixture
def source():
    return Source()


def test_an_object_keeps_its_version_until_it_changes(source):
    source.numbers = {("a", "x"): 1, ("a", "y"): 1}
    before = {each["metadata"]["name"]: each for each in source.snapshot.list(Selection(), 0).objects}
    source.numbers["a", "y"] = 2
    after = {each["metadata"]["name"]: each for each in source.snapshot.list(Selection(), 0).objects}
    assert after["x"] == before["x"]
    assert int(after["y"]["metadata"]["resourceVersion"]) > int(before["y"]["metadata"]["resourceVersion"])
    assert source.snapshot.get("a", "y") == after["y"]
    assert source.snapshot.get("b", "y") is None


def test_changes_tell_what_was_before(source):
    source.numbers = {("a", "x"): 1, ("a", "y"): 1}
    start = source.snapshot.version()
    source.numbers = {("a", "y"): 2, ("a", "z"): 3}
    found = source.snapshot.changes(start, 10)
    told = [(each.type, each.object["metadata"]["name"], bool(each.previous)) for each in found.changes]
    assert told == [(ChangeType.DELETED, "x", True), (ChangeType.MODIFIED, "y", True), (ChangeType.ADDED, "z", False)]
    versions = [each.version for each in found.changes]
    assert versions == sorted(set(versions))
    assert found.version == versions[-1] == source.snapshot.version()
    assert [int(each.object["metadata"]["resourceVersion"]) for each in found.changes] == versions
    assert source.snapshot.changes(start, 2).version == versions[1]


def test_pages_show_the_state_of_the_first(source):
    source.numbers = {("a", "x"): 1, ("a-b", "x"): 2, ("b", "x"): 3, ("b", "y"): 4}
    wanted = dict(source.numbers)
    first = source.snapshot.list(Selection(), 1)
    source.numbers = {("a", "new"): 9, ("b", "x"): 30, ("b", "y"): 4}
    found, more = state(first), first.more
    assert first.remaining == 3
    while more:
        page = source.snapshot.list(Selection(), 1, first.version, more)
        found |= state(page)
        more = page.more
    assert found == wanted
    assert state(source.snapshot.list(Selection(), 0)) == source.numbers


def test_a_selection_is_obeyed(source):
    source.numbers = {("a", "x"): 1, ("b", "x"): 2, ("b", "y"): 2}
    chosen = Selection(
        "b", fields=(FieldRequirement("spec.number", True, "2"), FieldRequirement("metadata.name", False, "y"))
    )
    assert state(source.snapshot.list(chosen, 0)) == {("b", "x"): 2}


def test_what_is_older_than_the_first_look_or_the_kept_changes_has_expired():
    source = Source(kept=2)
    source.numbers = {("a", "x"): 0}
    start = source.snapshot.version()
    with pytest.raises(Expired):
        source.snapshot.changes(start - 1, 10)
    for number in range(1, 4):
        source.numbers["a", "x"] = number
        source.snapshot.version()
    with pytest.raises(Expired, match="list again"):
        source.snapshot.changes(start, 10)
    with pytest.raises(Expired):
        source.snapshot.list(Selection(), 1, start)
    assert len(source.snapshot.changes(source.snapshot.version() - 1, 10).changes) == 1


def test_a_source_that_is_away_changes_nothing(source):
    source.numbers = {("a", "x"): 1}
    start = source.snapshot.version()
    source.away = True
    for ask in (source.snapshot.version, lambda: source.snapshot.get("a", "x"), lambda: source.snapshot.changes(0, 1)):
        with pytest.raises(Unavailable):
            ask()
    source.away = False
    assert source.snapshot.version() == start


@given(
    st.lists(st.dictionaries(st.sampled_from("uvwxyz"), st.integers(0, 2)), min_size=1, max_size=6), st.integers(1, 4)
)
def test_changes_lead_from_any_state_to_the_last(states, limit):
    source = Source()
    marks = []
    for each in states:
        source.numbers = {("a", name): number for name, number in each.items()}
        marks.append((source.snapshot.version(), dict(source.numbers)))
    for version, numbers in marks:
        assert state(source.snapshot.list(Selection(), 0, version)) == numbers
        followed, at = dict(numbers), version
        while at < marks[-1][0]:
            found = source.snapshot.changes(at, limit)
            for change in found.changes:
                meta = change.object["metadata"]
                followed.pop((meta["namespace"], meta["name"]), None)
                if change.type is not ChangeType.DELETED:
                    followed[meta["namespace"], meta["name"]] = change.object["spec"]["number"]
            at = found.version
        assert followed == marks[-1][1]
