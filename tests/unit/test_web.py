"""What refusals look like to those who read them on the way."""

from __future__ import annotations

import pytest

from functions.runtime import web


@pytest.mark.parametrize("text", ["x" * 100_000, "ü" * 5_000, '"' * 5_000, "\U0001f600" * 5_000])
def test_no_refusal_is_longer_than_a_broker_survives(text: str) -> None:
    answer = web.problem(422, "invalid_attribute_value", text, field=text, traceId="0" * 32)
    told = answer.get_json()
    assert len(answer.data) <= web.REFUSAL_BYTES
    assert told["detail"].endswith("…")


def test_a_short_text_is_told_whole() -> None:
    answer = web.problem(400, "malformed_event", "type: missing; say what happened", field="type")
    assert answer.get_json() == {
        "title": "malformed_event",
        "status": 400,
        "detail": "type: missing; say what happened",
        "field": "type",
    }
