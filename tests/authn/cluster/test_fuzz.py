"""Arbitrary requests at the running webhook: never a 5xx, never a user, never an echo of what was sent."""

from __future__ import annotations

import json
import os
import time

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.authn.collector import Collector

SECONDS = 30 if os.environ.get("CI") else 6
MARK = "fuzzed-s3cret"

texts = st.text(max_size=20).map(lambda text: MARK + text) | st.text("abcXYZ019-._~+/=", max_size=30).map(MARK.__add__)
jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
reviews = st.fixed_dictionaries(
    {},
    optional={
        "apiVersion": st.sampled_from(["authentication.k8s.io/v1", "authentication.k8s.io/v1beta1"]) | jsons,
        "kind": st.just("TokenReview") | jsons,
        "spec": st.fixed_dictionaries({}, optional={"token": texts | jsons, "audiences": st.lists(texts) | jsons})
        | jsons,
    },
)
good = st.builds(
    lambda version, token: {
        "apiVersion": f"authentication.k8s.io/{version}",
        "kind": "TokenReview",
        "spec": {"token": token},
    },
    st.sampled_from(["v1", "v1beta1"]),
    texts,
)
bodies = (good | reviews | jsons).map(lambda document: json.dumps(document).encode()) | st.binary(max_size=200)
extremes = st.tuples(st.just("long"), st.integers(0, 80_000)) | st.tuples(st.just("deep"), st.integers(1, 30_000))
headers = st.dictionaries(
    st.sampled_from(["traceparent", "tracestate", "content-type", "authorization", "content-encoding"]),
    st.text("abc019-;=/ ", max_size=60),
    max_size=3,
)


def extreme(kind, size):
    """Bodies that are too large to be shown when they fail."""
    return b"[" * size if kind == "deep" else json.dumps({"spec": {"token": MARK + "x" * size}}).encode()


def test_no_request_breaks_the_webhook_or_comes_back_out_of_it(webhook, front):
    seen: dict[int, int] = {}
    with Collector() as collector:
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "WEBAPP_LOG_LEVEL": "DEBUG"}
        webhook.start(front.url, environ, REQUIRE_AUDIENCE="false")

        @settings(max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(body=bodies | extremes, sent=headers)
        @example(body=("long", 70_000), sent={})
        def attack(body, sent):
            answer = webhook.post(extreme(*body) if isinstance(body, tuple) else body, sent)
            seen[answer.status] = seen.get(answer.status, 0) + 1
            assert answer.status < 500
            assert MARK.encode() not in answer.data
            if answer.status == 200:
                assert answer.json()["status"]["authenticated"] is False

        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            attack()
        metrics = json.dumps(webhook.metrics())
        webhook.process.stop()
        spans = collector.taken
    assert {200, 400, 413} <= set(seen)
    assert MARK not in webhook.process.log.read_text()
    assert MARK not in metrics
    assert b"webapp.authn.source" in spans
    assert MARK.encode() not in spans
