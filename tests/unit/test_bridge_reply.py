"""The event in an answer: what the function replied, and what its refusal says of a run that failed."""

from __future__ import annotations

import json

import pytest
from urllib3 import HTTPHeaderDict

from event_bridge import reply
from functions.webapp.contract import PROBLEM
from functions.webapp.envelope import STRUCTURED

EVENT = {"specversion": "1.0", "id": "1", "type": "x", "data": {"outcome": "failed"}}


def test_a_reply_is_taken_as_it_is() -> None:
    headers = {"CE-Type": "x", "ce-ID": "a%20b", "Content-Type": "application/json", "webapp-outcome": "created"}
    found = reply.read(HTTPHeaderDict(headers), b"{}")
    assert found is not None
    assert found.headers == {"ce-type": "x", "ce-id": "a%20b", "content-type": "application/json"}
    assert found.body == b"{}"


def test_a_refusal_hands_its_event_on_in_structured_mode() -> None:
    body = json.dumps({"title": "api_unavailable", "finished": EVENT}).encode()
    found = reply.read({"content-type": PROBLEM}, body)
    assert found is not None
    assert found.headers == {"content-type": STRUCTURED}
    assert json.loads(found.body) == EVENT


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("", b""),
        ("application/json", json.dumps({"finished": EVENT}).encode()),
        (PROBLEM, b'{"detail": "\\"finished\\""}'),
        (PROBLEM, b'{"title": "", "finished": {"id'),
        (PROBLEM, b'["finished"]'),
        (PROBLEM, b'{"detail": "nothing ran"}'),
        (PROBLEM, b'"finished"' + b"[" * 100_000),
    ],
)
def test_anything_else_holds_none(content_type: str, body: bytes) -> None:
    assert reply.read({"content-type": content_type}, body) is None


def test_size_counts_headers_and_body() -> None:
    small, large = (reply.read({"ce-type": "x" * count}, b"y" * count) for count in (1, 1001))
    assert small is not None
    assert large is not None
    assert large.size - small.size == 2000
