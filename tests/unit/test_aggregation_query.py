"""What lists and watches ask for, and where a list goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.aggregation.collection import Change, ChangeType, Selection
from functions.aggregation.continuation import Position
from functions.aggregation.query import ListQuery, WatchQuery, include, is_watch, selection
from functions.aggregation.selected import through
from functions.aggregation.selectors import FieldRequirement, labels
from functions.aggregation.status import BadRequest
from functions.aggregation.table import Include
from tests.aggregation.books import BOOKS, KIND

NOVELS = Selection("novels")
A = Selection(labels=labels("app=a"))
INITIAL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}


@given(st.integers(1, 2**62), st.text(min_size=1))
def test_a_token_gives_back_its_position(at, after):
    position = Position(at, after)
    assert Position.of(position.token(BOOKS, NOVELS), BOOKS, NOVELS) == position


@given(st.text(max_size=40))
def test_a_token_that_is_not_ours_is_a_bad_request(text):
    with pytest.raises(BadRequest, match=r"^continue: "):
        Position.of(text, BOOKS, NOVELS)


@pytest.mark.parametrize("other", [Selection("poems"), Selection("novels", "emma"), A, Selection()])
def test_a_token_is_good_for_its_selection_only(other):
    token = Position(7, "x").token(BOOKS, NOVELS)
    with pytest.raises(BadRequest, match="other selectors or of another namespace"):
        Position.of(token, BOOKS, other)


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ({}, ListQuery(NOVELS, 0)),
        ({"limit": "500", "resourceVersion": "0"}, ListQuery(NOVELS, 500)),
        ({"resourceVersion": "7"}, ListQuery(NOVELS, 0, least=7)),
        ({"resourceVersion": "7", "limit": "5"}, ListQuery(NOVELS, 5, at=7)),
        ({"resourceVersion": "7", "limit": "5", "resourceVersionMatch": "NotOlderThan"}, ListQuery(NOVELS, 5, least=7)),
        ({"resourceVersion": "7", "resourceVersionMatch": "Exact"}, ListQuery(NOVELS, 0, at=7)),
        ({"resourceVersion": "0", "resourceVersionMatch": "NotOlderThan"}, ListQuery(NOVELS, 0)),
        ({"continue": Position(7, "x").token(BOOKS, NOVELS), "limit": "5"}, ListQuery(NOVELS, 5, 7, "x")),
    ],
)
def test_what_a_list_asks_for(parameters, wanted):
    assert ListQuery.of(parameters, KIND, "novels") == wanted


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"limit": "-1"}, "limit: '-1'"),
        ({"limit": "many"}, "limit: 'many'"),
        ({"limit": "٣"}, "limit: "),
        ({"resourceVersion": "1" * 5000}, "resourceVersion: '1111"),
        ({"resourceVersion": str(2**63)}, "resourceVersion: '9223372036854775808' is no number"),
        ({"resourceVersionMatch": "Exact"}, "resourceVersionMatch: needs a resourceVersion"),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, "resourceVersionMatch: Exact needs"),
        ({"resourceVersionMatch": "Any", "resourceVersion": "1"}, "resourceVersionMatch: 'Any' is neither"),
        ({"continue": Position(7, "x").token(BOOKS, NOVELS), "resourceVersion": "7"}, "continue: has a version"),
        ({"continue": "garbage"}, "continue: is no token"),
        ({"sendInitialEvents": "true"}, "sendInitialEvents: is for watches"),
        ({"labelSelector": "a in (b"}, "labelSelector: found the end"),
        ({"fieldSelector": "spec.title=x"}, "fieldSelector: field label not supported: 'spec.title'"),
    ],
)
def test_a_bad_parameter_of_a_list_is_named(parameters, told):
    with pytest.raises(BadRequest, match=r".") as caught:
        ListQuery.of(parameters, KIND, "novels")
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize(
    ("parameters", "version", "initial", "initial_end"),
    [
        ({}, 0, True, False),
        ({"resourceVersion": "0"}, 0, True, False),
        ({"resourceVersion": "7"}, 7, False, False),
        (INITIAL, 0, True, False),
        ({**INITIAL, "allowWatchBookmarks": "true"}, 0, True, True),
        ({**INITIAL, "allowWatchBookmarks": "true", "resourceVersion": "7"}, 7, True, True),
        ({**INITIAL, "sendInitialEvents": "false", "allowWatchBookmarks": "1"}, 0, False, False),
    ],
)
def test_what_a_watch_begins_with(parameters, version, initial, initial_end):
    query = WatchQuery.of(parameters, KIND, "novels")
    assert (query.version, query.initial, query.initial_end) == (version, initial, initial_end)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"sendInitialEvents": "true"}, "sendInitialEvents: needs resourceVersionMatch=NotOlderThan"),
        ({"resourceVersionMatch": "NotOlderThan"}, "resourceVersionMatch: is for lists"),
        ({"continue": "x"}, "continue: is for lists"),
        ({"timeoutSeconds": "soon"}, "timeoutSeconds: 'soon'"),
    ],
)
def test_a_bad_parameter_of_a_watch_is_named(parameters, told):
    with pytest.raises(BadRequest, match=r".") as caught:
        WatchQuery.of(parameters, KIND, "novels")
    assert str(caught.value).startswith(told)


def test_switches_are_read_as_kubernetes_reads_them():
    assert [is_watch({"watch": text}) for text in ("true", "1", "", "yes", "false", "False", "0")] == [True] * 4 + [
        False
    ] * 3
    assert not is_watch({})


def test_what_rows_are_to_carry():
    assert include({}) is include({"includeObject": ""}) is Include.METADATA
    assert include({"includeObject": "Object"}) is Include.OBJECT
    with pytest.raises(BadRequest, match="includeObject: 'All' is none of None, Metadata, Object"):
        include({"includeObject": "All"})


@pytest.mark.parametrize(
    ("selector", "namespace", "wanted"),
    [
        ("metadata.name=emma", "novels", Selection("novels", "emma")),
        ("metadata.namespace=novels", "", Selection("novels")),
        ("metadata.name!=emma", "", Selection(fields=(FieldRequirement("metadata.name", False, "emma"),))),
        (
            "metadata.namespace=poems",
            "novels",
            Selection("novels", fields=(FieldRequirement("metadata.namespace", True, "poems"),)),
        ),
        (
            "metadata.name=emma,metadata.name=dune",
            "",
            Selection(name="emma", fields=(FieldRequirement("metadata.name", True, "dune"),)),
        ),
    ],
)
def test_names_in_field_selectors_narrow_the_selection(selector, namespace, wanted):
    assert selection({"fieldSelector": selector}, KIND, namespace) == wanted


def obj(app, version):
    return {"metadata": {"namespace": "novels", "name": "x", "labels": {"app": app}, "resourceVersion": str(version)}}


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (Change(ChangeType.ADDED, 2, obj("a", 2)), (ChangeType.ADDED, "a")),
        (Change(ChangeType.ADDED, 2, obj("b", 2)), None),
        (Change(ChangeType.MODIFIED, 2, obj("a", 2), obj("a", 1)), (ChangeType.MODIFIED, "a")),
        (Change(ChangeType.MODIFIED, 2, obj("a", 2), obj("b", 1)), (ChangeType.ADDED, "a")),
        (Change(ChangeType.MODIFIED, 2, obj("b", 2), obj("a", 1)), (ChangeType.DELETED, "a")),
        (Change(ChangeType.MODIFIED, 2, obj("b", 2), obj("b", 1)), None),
        (Change(ChangeType.MODIFIED, 2, obj("a", 2)), (ChangeType.MODIFIED, "a")),
        (Change(ChangeType.MODIFIED, 2, obj("b", 2)), (ChangeType.DELETED, "b")),
        (Change(ChangeType.DELETED, 2, obj("a", 2)), (ChangeType.DELETED, "a")),
        (Change(ChangeType.DELETED, 2, obj("b", 2)), None),
    ],
)
def test_a_watch_of_selected_objects_sees_them_come_and_go(change, seen):
    found = through(change, A)
    told = found and (found.type, found.object["metadata"]["labels"]["app"])
    assert told == seen
    assert found is None or found.object["metadata"]["resourceVersion"] == "2"
