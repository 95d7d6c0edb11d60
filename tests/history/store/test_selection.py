"""SQL selects exactly what `Selection.matches` says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from functions.aggregation.collection import Selection
from functions.aggregation.selectors import FieldRequirement, Operator, Requirement
from functions.history.selection import FIELDS, LABELS
from functions.webapp.contract import Change
from functions.webapp.outcome import Outcome
from tests.history.conftest import open_store
from tests.history.runs import row, run

LONG = "l" * 63
TOO_LONG = "l" * 64
APPS = ["web", "w", "Web".lower() + "-2", LONG, TOO_LONG, "a.b"]
WORDS = [
    *APPS,
    "Converged",
    "Failed",
    "Gone",
    "webapp.modified",
    "service.deleted",
    "",
    "team",
    "ops",
    "WEB",
    "w%",
    "w_b",
    "'",
]


def corpus():
    outcomes = [outcome for outcome in Outcome if outcome is not Outcome.IGNORED]
    number = 0
    for namespace in ("team", "ops"):
        for app in APPS:
            for outcome in outcomes:
                number += 1
                trigger = run(number).trigger
                changed = type(trigger)(
                    id=trigger.id,
                    type=["com.example.platform.service.deleted.v1", "...", trigger.type][number % 3],
                    source=trigger.source,
                    subject="",
                    change=Change.DELETED if number % 3 == 0 else Change.MODIFIED,
                    cause=trigger.cause,
                )
                yield row(number, namespace=namespace, webapp=app, outcome=outcome, trigger=changed)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def filled(request, tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("selection")
    sqlite = request.param == "sqlite"
    store = open_store(f"sqlite:///{folder}/h.db" if sqlite else request.getfixturevalue("postgres").database())
    store.append(list(corpus()))
    yield store, store.list(Selection(), 0).objects
    store.close()


words = st.sampled_from(WORDS) | st.text(max_size=3)
one, many = words.map(lambda word: (word,)), st.lists(words, min_size=1, max_size=4).map(tuple)
keys = st.sampled_from([*LABELS, "other", "webapp2"])
requirements = st.one_of(
    st.builds(Requirement, keys, st.sampled_from([Operator.EQUAL, Operator.NOT_EQUAL]), one),
    st.builds(Requirement, keys, st.sampled_from([Operator.IN, Operator.NOT_IN]), many),
    st.builds(Requirement, keys, st.sampled_from([Operator.EXISTS, Operator.NOT_EXISTS])),
)
fields = st.builds(FieldRequirement, st.sampled_from(sorted(FIELDS)), st.booleans(), words)
selections = st.builds(
    Selection,
    namespace=st.sampled_from(["", "team", "ops", "nobody"]) | st.text(max_size=2),
    name=st.sampled_from(["", "", "", row(1).name]) | st.text(max_size=2),
    labels=st.lists(requirements, max_size=3).map(tuple),
    fields=st.lists(fields, max_size=2).map(tuple),
)


@given(asked=selections)
@example(Selection(fields=(FieldRequirement("metadata.name", False, "\0"),)))
@example(Selection(fields=(FieldRequirement("metadata.name", True, "\ud800"),)))
@example(Selection(namespace="\0"))
@example(Selection(labels=(Requirement("webapp", Operator.NOT_EXISTS),)))
@example(Selection(labels=(Requirement("webapp", Operator.EQUAL, (TOO_LONG,)),)))
@example(Selection(labels=(Requirement("trigger", Operator.EQUAL, ("",)),)))
@example(Selection(labels=(Requirement("webapp", Operator.NOT_IN, (TOO_LONG, "web")),)))
def test_sql_selects_what_matches(filled, asked):
    store, everything = filled
    assert store.list(asked, 0).objects == [each for each in everything if asked.matches(each)]


@pytest.mark.parametrize("name", ["", "\0", "\ud800", "nothing"])
def test_a_name_that_nothing_has_is_not_found(filled, name):
    store, _ = filled
    assert store.get("team", name) is None
    assert store.get(name, row(1).name) is None


def test_the_corpus_has_what_makes_a_difference(filled):
    _, everything = filled
    labels = [each["metadata"]["labels"] for each in everything]
    assert any("webapp" not in each for each in labels)
    assert any("trigger" not in each for each in labels)
    assert len({each["metadata"]["namespace"] for each in everything}) == 2
