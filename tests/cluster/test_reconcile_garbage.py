"""Snapshots full of garbage: no answer is a 5xx, and what is there stays as it was."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from functions.webapp.resources import OWNED
from tests.builders import places, webapp
from tests.cluster.sender import FUZZ_SECONDS, STRUCTURED, Sender
from tests.schema_values import json_values

ROUND = settings(max_examples=50, suppress_health_check=list(HealthCheck), database=None)
GARBAGE = json_values | st.sampled_from(["9e999999Ki", "NaN", [[]], -1, "0", [{"name": []}], [{"type": {}}]])


@pytest.fixture(scope="module")
def target(shared: Sender) -> Sender:
    """A settled WebApp to lie about."""
    shared.deploy(webapp(replicas=0, host="web.example.com", env=[{"name": "A", "value": "b"}]))
    return shared


def test_no_garbage_in_a_snapshot_changes_what_is_there(target: Sender):
    deadline = time.monotonic() + FUZZ_SECONDS
    honest = target.snapshot()
    text, uid = json.dumps(honest), honest["webapp"]["metadata"]["uid"]
    kept = {each: target.child(each)["spec"] for each in OWNED}

    @ROUND
    @given(st.lists(st.tuples(st.sampled_from(places(honest)), GARBAGE), min_size=1, max_size=3))
    def send(lies: list[tuple[tuple[Any, ...], Any]]):
        told = json.loads(text)
        for (*above, last), value in lies:
            parent = told
            try:
                for step in above:
                    parent = parent[step]
                parent[last] = value
            except (KeyError, IndexError, TypeError):
                continue  # an earlier lie took the place away
        event = target.event(told, uid=uid)
        answer = target.function.request("POST", "/", json.dumps(event).encode(), **STRUCTURED)
        assert answer.status < 500, answer

    while time.monotonic() < deadline:
        send()
    assert {each: target.child(each)["spec"] for each in OWNED} == kept
    target.settle()
    assert target.condition("Degraded")[:2] == ("False", "AsExpected")
    assert target.condition("Ready")[:2] == ("True", "ScaledToZero")
