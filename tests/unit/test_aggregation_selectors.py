"""Label and field selectors mean what they mean to kube-apiserver (tests/aggregation asks it; here are the rules)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.aggregation.selectors import FieldRequirement, Operator, Requirement, SelectorError, fields, labels

NAMES = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?", fullmatch=True)
KEYS = st.builds("{}{}".format, st.sampled_from(["", "example.com/", "a-b.c/"]), NAMES) | st.sampled_from(
    ["in", "notin"]
)
VALUES = st.just("") | NAMES | st.sampled_from(["in", "notin"])
SPACES = st.text(" \t\r\n", max_size=2)
FIELDS = ("metadata.name", "status.outcome", "spec.webAppRef.name")


@st.composite
def spelled(draw):
    """A requirement and one of its spellings."""
    key, operator = draw(KEYS), draw(st.sampled_from(Operator))
    space = lambda: draw(SPACES)  # noqa: E731
    match operator:
        case Operator.EXISTS:
            return Requirement(key, operator), f"{space()}{key}{space()}"
        case Operator.NOT_EXISTS:
            return Requirement(key, operator), f"{space()}!{space()}{key}{space()}"
        case Operator.EQUAL | Operator.NOT_EQUAL:
            value = draw(VALUES)
            sign = draw(st.sampled_from(["=", "=="])) if operator is Operator.EQUAL else "!="
            return Requirement(key, operator, (value,)), f"{space()}{key}{space()}{sign}{space()}{value}{space()}"
        case Operator.IN | Operator.NOT_IN:
            values = draw(st.lists(VALUES, min_size=1, max_size=4))
            inside = ",".join(f"{space()}{value}{space()}" for value in values)
            requirement = Requirement(key, operator, tuple(sorted(set(values))))
            return requirement, f"{space()}{key} {operator}{space()}({inside}){space()}"


@given(st.lists(spelled(), min_size=1, max_size=4))
def test_every_spelling_of_a_label_selector_is_understood(parts):
    assert labels(",".join(text for _, text in parts)) == tuple(requirement for requirement, _ in parts)


@given(st.text("ab=!(), \t<>/.-in", max_size=12))
def test_any_text_is_a_label_selector_or_a_selector_error(text):
    try:
        found = labels(text)
    except SelectorError:
        found = ()
    assert all(requirement.key for requirement in found)


@pytest.mark.parametrize(
    ("selector", "matching"),
    [
        ("", {"none", "a", "b", "empty"}),
        ("app=a", {"a"}),
        ("app!=a", {"none", "b", "empty"}),
        ("app in (a, b)", {"a", "b"}),
        ("app notin (a, b)", {"none", "empty"}),
        ("app", {"a", "b", "empty"}),
        ("!app", {"none"}),
        ("app=", {"empty"}),
        ("app in (a,)", {"a", "empty"}),
        ("app in ()", {"empty"}),
        ("app,app!=b", {"a", "empty"}),
    ],
)
def test_a_label_that_is_absent_differs_from_every_value(selector, matching):
    objects = {"none": {}, "a": {"app": "a"}, "b": {"app": "b", "x": "y"}, "empty": {"app": ""}}
    requirements = labels(selector)
    assert {name for name, found in objects.items() if all(each.matches(found) for each in requirements)} == matching


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        ("a in (b", "found the end"),
        ("a,", "expected a label"),
        ("a=b=c", "found '='"),
        ("!a=b", "found '='"),
        ("a b", "found 'b'"),
        ("a>1", "found '>'"),
        ("-a=b", "'-a' is no label"),
        (f"{'a' * 64}=b", "at most 63"),
        ("A.b/c", "'A.b/c' is no label"),
        ("/c", "'/c' is no label"),
        ("a=b%", "a: 'b%' is no label value"),
        ("a=b\n\nc", "found 'c'"),
    ],
)
def test_a_bad_label_selector_is_told_by_its_part(selector, told):
    with pytest.raises(SelectorError, match=r".") as caught:
        labels(selector)
    assert told in str(caught.value)


@given(st.sampled_from(FIELDS), st.sampled_from(["=", "==", "!="]), st.text(max_size=10))
def test_a_field_value_survives_its_escapes(path, operator, value):
    escaped = value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
    assert fields(f"{path}{operator}{escaped},", FIELDS) == (FieldRequirement(path, operator != "!=", value),)


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        ("status.phase=x", "field label not supported: 'status.phase'; supported are metadata.name,"),
        ("metadata.name", "has no operator"),
        ("metadata.name=a=b", "bare '='"),
        (r"metadata.name=a\b", r"has '\\b'"),
        ("metadata.name=a\\", "only"),
        (" metadata.name=a", "not supported"),
    ],
)
def test_a_bad_field_selector_is_told_by_its_part(selector, told):
    with pytest.raises(SelectorError, match=r".") as caught:
        fields(selector, FIELDS)
    assert told in str(caught.value)


def test_a_field_that_is_absent_is_an_empty_text():
    obj = {"metadata": {"name": "a"}, "status": {"attempt": 2}}
    assert fields("status.outcome=", FIELDS)[0].matches(obj)
    assert fields("status.outcome!=Failed", FIELDS)[0].matches(obj)
    assert not fields("metadata.name!=a", FIELDS)[0].matches(obj)
    assert fields("status.attempt=2", ["status.attempt"])[0].matches(obj)
