"""The dead-letter sink writes what `webapp replay` reads."""

import io

import pytest

from functions.deadletter.app import create_app
from functions.dev import recording

EVENT = {
    "ce-specversion": "1.0",
    "ce-id": "1",
    "ce-type": "com.example.platform.webapp.modified.v1",
    "ce-source": "//platform.example.com/clusters/c/platform.example.com/webapps",
    "ce-knativeerrorcode": "422",
    "ce-knativeerrordest": "http://webapp-reconciler.webapp-system.svc.cluster.local",
    "content-type": "application/json",
}


@pytest.fixture
def lines():
    return io.BytesIO()


@pytest.fixture
def client(lines):
    return create_app(lines).test_client()


def test_event_becomes_one_line_that_can_be_replayed(client, lines):
    for number in ("1", "2"):
        answer = client.post("/", headers={**EVENT, "ce-id": number}, data='{"a": "line\\nbreak"}')
        assert (answer.status_code, answer.data) == (204, b"")
    first, second = recording.events(lines.getvalue().decode(), "log")
    assert (first.line, second.line) == (1, 2)
    assert second.event.get_id() == "2"
    assert recording.parking(first.event)["knativeerrorcode"] == "422"


def test_what_is_no_event_is_refused_and_not_written(client, lines):
    assert client.post("/", data="hello").status_code == 415
    assert lines.getvalue() == b""
