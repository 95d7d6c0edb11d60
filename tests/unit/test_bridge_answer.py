"""What an answer of the sink means."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from urllib3 import HTTPHeaderDict

from event_bridge import answer
from event_bridge.answer import MAX_TEXT, Answer, Verdict

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def read(status: int, body: bytes = b"", **headers: str) -> Answer:
    return answer.read(status, HTTPHeaderDict({k.replace("_", "-"): v for k, v in headers.items()}), body, NOW)


@pytest.mark.parametrize("status", [200, 202, 204, 299])
def test_every_2xx_is_an_acknowledgement(status: int) -> None:
    assert read(status).verdict is Verdict.ACKNOWLEDGED


@pytest.mark.parametrize("status", [400, 402, 405, 406, 410, 413, 415, 422, 451])
def test_what_waiting_cannot_cure_is_poison(status: int) -> None:
    assert read(status).verdict is Verdict.POISON


@pytest.mark.parametrize("status", [301, 307, 401, 403, 404, 408, 409, 425, 429, 500, 501, 502, 503, 504, 599])
def test_everything_else_is_tried_again(status: int) -> None:
    assert read(status).verdict is Verdict.AGAIN


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_token_waits_for_its_rotation(status: int) -> None:
    assert read(status).retry_after == 60.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7.0), ("Sun, 01 Mar 2026 09:30:12 GMT", 12.0), ("Sun, 01 Mar 2026 09:00:00 GMT", 0.0), ("soon", 0.0),
     ("-3", 0.0), ("999999", 3600.0), ("", 0.0), ("Sun, 01 Mar 2026 09:30:12", 0.0)],
)  # fmt: skip
def test_retry_after_is_read_as_seconds_or_a_date(text: str, seconds: float) -> None:
    assert read(503, retry_after=text).retry_after == seconds


def test_a_503_or_500_of_our_function_says_nothing_about_the_sink() -> None:
    assert read(503).sink
    assert read(500).sink
    assert not read(500, content_type="application/problem+json").sink
    assert not read(503, content_type="application/problem+json").sink
    assert not read(503, webapp_outcome="failed").sink
    assert not read(429).sink
    assert answer.lost("timeout", "").sink


def test_the_functions_own_headers_are_read() -> None:
    found = read(204, webapp_wrote="u1/5 u2/6 broken / x/", webapp_requeue_after="60", webapp_outcome="updated")
    assert found.wrote == {("u1", "5"), ("u2", "6")}
    assert (found.requeue_after, found.outcome) == (60.0, "updated")


def test_a_refusal_is_kept_up_to_a_length() -> None:
    assert len(read(400, b"x" * 5000).text) == MAX_TEXT
    assert read(400, b"\xff").text == "\ufffd"


@pytest.mark.parametrize(("found", "label"), [(read(204), "2xx"), (read(503), "5xx"), (answer.lost("tls", ""), "tls")])
def test_labels_are_few(found: Answer, label: str) -> None:
    assert found.label == label
