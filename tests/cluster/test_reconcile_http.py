"""The edge as strangers meet it: every wrong request gets an answer that says what would be right, and none a 5xx."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cluster.sender import FUZZ_SECONDS, STRUCTURED, Function
from tests.schema_values import json_values

EVENT = {
    "specversion": "1.0",
    "id": "1",
    "source": "//x",
    "type": "com.example.platform.webapp.modified.v1",
    "data": {"webapp": {"namespace": "nowhere", "name": "web", "uid": "u"}},
}
HEADERS = {f"ce_{name}": value for name, value in EVENT.items() if name != "data"} | {
    "content_type": "application/json"
}
ROUND = settings(max_examples=50, suppress_health_check=list(HealthCheck), database=None)


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "told"),
    [
        ("GET", "/", b"", {}, 405, "Method Not Allowed"),
        ("PUT", "/", b"", {}, 405, "Method Not Allowed"),
        ("POST", "/nowhere", b"", {}, 404, "Not Found"),
        ("POST", "/", b"[]", {"content_type": "application/cloudevents-batch+json"}, 415, "one event per request"),
        ("POST", "/", b"{}", {"content_type": "application/json"}, 415, "Content-Type: application/cloudevents+json"),
        ("POST", "/", b"{}", {}, 415, "application/cloudevents+json"),
        ("POST", "/", b"{", STRUCTURED, 400, "is not JSON"),
        ("POST", "/", b"{}", STRUCTURED, 400, "specversion"),
        ("POST", "/", json.dumps({**EVENT, "type": "com.example.x"}).encode(), STRUCTURED, 422, "com.example.x"),
        ("POST", "/", json.dumps({**EVENT, "data": []}).encode(), STRUCTURED, 400, "must be a JSON object"),
        ("POST", "/", json.dumps({**EVENT, "data": {}}).encode(), STRUCTURED, 400, "data.webapp"),
        ("POST", "/", b" " * 300_000, {**STRUCTURED, "connection": "close"}, 413, "Request Entity Too Large"),
        ("POST", "/", b"[" * 100_000, STRUCTURED, 400, "nested deeper"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_a_wrong_request_is_told_what_would_be_right(function, method, path, body, headers, status, told):
    answer = function.request(method, path, body, **headers)
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["status"] == status
    assert told in json.dumps(answer.json)


def test_options_lets_a_webhook_sender_in(function):
    plain = function.request("OPTIONS")
    assert (plain.status, plain.headers["allow"]) == (200, "POST, OPTIONS")
    asked = function.request("OPTIONS", webhook_request_origin="eventemitter.example.com")
    assert asked.headers["webhook-allowed-origin"] == "eventemitter.example.com"
    assert asked.headers["webhook-allowed-rate"] == "*"


@pytest.mark.parametrize("path", ["/health/liveness", "/health/readiness"])
def test_health_asks_nobody(function, audit, path):
    assert function.request("GET", path).status == 200
    assert audit("webapp-reconciler") == []


words = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=20)
attributes = st.sampled_from(
    ["specversion", "id", "source", "type", "time", "subject", "traceparent", "datacontenttype"]
)
types = st.sampled_from(
    [EVENT["type"], "com.example.platform.deployment.deleted.v1", "dev.knative.apiserver.resource.add",
     "dev.knative.apiserver.ref.update"]
)  # fmt: skip
keys = st.fixed_dictionaries(
    {"namespace": st.just("nowhere") | json_values, "name": st.just("web") | json_values}, optional={"uid": json_values}
)
payloads = st.fixed_dictionaries(
    {"webapp": keys | json_values},
    optional={
        "reason": st.sampled_from(["watch", "sync"]) | json_values,
        "coalesced": json_values,
        "snapshot": json_values | st.fixed_dictionaries({"webapp": json_values, "owned": st.lists(json_values)}),
        "apiVersion": st.just("apps/v1"),
        "kind": st.just("Deployment"),
        "metadata": keys | json_values,
    },
)
events = st.builds(
    lambda type_, data, more: {**EVENT, "type": type_, "data": data, **more},
    types,
    payloads | json_values,
    st.dictionaries(attributes | words, words | json_values, max_size=3),
)
header_names = attributes.map("ce_{}".format) | st.sampled_from(
    ["prefer", "content_type", "traceparent", "tracestate", "webhook_request_origin", "ce_x", "accept", "expect"]
)
header_sets = st.dictionaries(header_names, words.map(str.strip) | st.sampled_from(["reply", "application/json"]))
bodies = (
    events.map(lambda event: json.dumps(event).encode())
    | st.binary(max_size=200)
    | json_values.map(json.dumps).map(str.encode)
)
queries = st.sampled_from(["/", "/?dryRun=All", "/?dryRun=%ff", "/?dryRun=", "/?a=b&dryRun=All&dryRun=x"])


def test_no_request_whatever_is_answered_with_a_server_error(function: Function):
    deadline = time.monotonic() + FUZZ_SECONDS

    @ROUND
    @given(st.sampled_from(["POST", "POST", "POST", "OPTIONS", "GET"]), queries, bodies, header_sets, st.booleans())
    def send(method: str, path: str, body: bytes, headers: dict[str, str], structured: bool):
        base = STRUCTURED if structured else HEADERS
        named: Any = {name: str(value).encode("latin-1") for name, value in {**base, **headers}.items()}
        answer = function.request(method, path, body, **named)
        assert answer.status < 500, answer

    while time.monotonic() < deadline:
        send()
