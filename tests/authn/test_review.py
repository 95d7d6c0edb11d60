"""The TokenReview envelope."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.authn import review
from functions.authn.review import MalformedReview
from functions.authn.verdict import Active, Failure, Fault, Identity

TOKEN = "s3cret-token"
GOOD = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": TOKEN, "audiences": ["a"]}}
JANE = Active(Identity("idp:jane", "42", ("idp:devs",), (("example.com/client", ("cli",)),)))


def parsed(**changes):
    return review.parse(json.dumps({**GOOD, **changes}).encode())


@pytest.mark.parametrize("version", review.VERSIONS)
def test_answers_bear_the_version_of_the_request(version):
    asked = parsed(apiVersion=version)
    for answer in (
        review.accepted(asked, JANE, ()),
        review.refused(asked),
        review.unavailable(asked, Failure(Fault.STATUS)),
    ):
        assert answer["apiVersion"] == version
        assert answer["kind"] == "TokenReview"


def test_accepted_answer_holds_the_user_and_the_shared_audiences():
    assert review.accepted(parsed(), JANE, ("a",))["status"] == {
        "authenticated": True,
        "user": {"username": "idp:jane", "uid": "42", "groups": ["idp:devs"], "extra": {"example.com/client": ["cli"]}},
        "audiences": ["a"],
    }


def test_empty_parts_of_a_user_are_left_out():
    assert review.accepted(parsed(), Active(Identity("idp:x")), ())["status"] == {
        "authenticated": True,
        "user": {"username": "idp:x"},
    }


def test_bad_token_is_told_without_an_error_so_that_it_is_cached():
    assert review.refused(parsed())["status"] == {"authenticated": False}


@pytest.mark.parametrize("fault", list(Fault))
def test_every_fault_is_told_with_an_error_so_that_it_is_not_cached(fault):
    status = review.unavailable(parsed(), Failure(fault))["status"]
    assert status["authenticated"] is False
    assert status["error"]
    assert "user" not in status


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"apiVersion": "authentication.k8s.io/v2"}, "apiVersion"),
        ({"apiVersion": None}, "apiVersion"),
        ({"apiVersion": ["authentication.k8s.io/v1"]}, "apiVersion"),
        ({"kind": "SubjectAccessReview"}, "kind"),
        ({"spec": None}, "spec"),
        ({"spec": {}}, "spec.token"),
        ({"spec": {"token": ""}}, "spec.token"),
        ({"spec": {"token": 7}}, "spec.token"),
        ({"spec": {"token": TOKEN, "audiences": "a"}}, "spec.audiences"),
        ({"spec": {"token": TOKEN, "audiences": ["a", 1]}}, "spec.audiences"),
        ({"spec": {"token": TOKEN, "audiences": [""]}}, "spec.audiences"),
        ({"spec": {"token": TOKEN, "audiences": ["a"] * 65}}, "spec.audiences"),
    ],
)
def test_malformed_review_names_the_field_and_not_the_token(changes, field):
    with pytest.raises(MalformedReview) as caught:
        parsed(**changes)
    assert caught.value.field == field
    assert caught.value.answer == 400
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("body", [b"", b"[]", b"nul", b"{", b'{"a":1,"a":2}', b"\xff", b"[" * 100_000])
def test_body_that_is_no_json_object_is_malformed(body):
    with pytest.raises(MalformedReview):
        review.parse(body)


def test_audiences_null_or_missing_are_none_at_all():
    assert parsed(spec={"token": TOKEN}).audiences == ()
    assert parsed(spec={"token": TOKEN, "audiences": None}).audiences == ()


def test_review_never_shows_its_token():
    assert TOKEN not in repr(parsed())
    assert TOKEN not in f"{parsed()}"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["apiVersion", "kind", "spec", "token", "audiences", "x"]), inner)
        ),
    )
)
def test_any_json_is_read_or_refused(document):
    try:
        found = review.parse(json.dumps(document).encode())
    except MalformedReview:
        return
    assert found.token
