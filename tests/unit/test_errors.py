"""Answers of a real API server, and which error of the tree each becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.webapp import errors
from functions.webapp.condition import Reason
from functions.webapp.errors import ApiError, BadEvent, Refused, TryAgain, WebAppError, from_status
from tests.schema_values import json_values

ANSWERS = json.loads((Path(__file__).parent.parent / "data" / "statuses" / "v1.36.json").read_text("utf-8"))


def classes(base: type[WebAppError]) -> list[type[WebAppError]]:
    return [base, *(found for each in base.__subclasses__() for found in classes(each))]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer["it"])
def test_every_answer_has_its_class(answer: dict[str, Any]):
    error = from_status(answer["code"], answer["body"])
    assert type(error) is getattr(errors, answer["error"])
    assert error.code == answer["code"]


def test_every_class_of_the_api_is_seen_but_the_one_that_nobody_can_provoke():
    seen = {getattr(errors, answer["error"]) for answer in ANSWERS}
    assert set(classes(ApiError)) - seen == {ApiError, Refused, errors.Throttled}
    throttled = from_status(429, {"reason": "TooManyRequests"}, retry_after=3.0)
    assert (type(throttled), throttled.retry_after) == (errors.Throttled, 3.0)


def test_texts_are_without_what_changes_by_itself():
    told = {answer["it"]: str(from_status(answer["code"], answer["body"])) for answer in ANSWERS}
    assert told["a quota of Deployments"] == "exceeded quota: limit"
    assert told["a create in a namespace that is going"] == "the namespace is being deleted"
    assert told["an admission policy"].endswith("denied request: no idle Deployments")


def test_a_denial_of_a_webhook_is_an_admission_denied():
    message = 'admission webhook "guard.example.org" denied the request: no'
    for code in (400, 403, 422):
        assert type(from_status(code, {"message": message})) is errors.AdmissionDenied


@pytest.mark.parametrize("kind", classes(Refused), ids=lambda kind: kind.__name__)
def test_every_refusal_has_a_reason_for_the_condition(kind: Any):
    assert kind.condition in set(Reason)


def test_answers_to_the_sender_say_whether_to_try_again():
    assert {each.answer for each in classes(ApiError)} == {503}
    assert {each.answer for each in classes(TryAgain)} == {503}
    assert {each.answer for each in classes(BadEvent)} == {400, 413, 415, 422}


def test_error_types_are_words_of_their_own():
    own = [each for each in classes(WebAppError) if each.__module__ == errors.__name__]
    assert len({each.error_type for each in own}) == len(own)


statuses = st.fixed_dictionaries(
    {},
    optional={
        "reason": json_values,
        "message": json_values,
        "details": json_values | st.fixed_dictionaries({"causes": json_values | st.lists(json_values)}),
    },
)


@given(st.sampled_from([400, 403, 422]) | st.integers(0, 999), statuses)
def test_no_body_makes_it_raise(code: int, body: dict[str, Any]):
    assert isinstance(from_status(code, body), ApiError)
