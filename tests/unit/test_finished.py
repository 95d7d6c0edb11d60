"""The finished event: what is built is read, what is wrong is named, and no secret travels in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given
from hypothesis import strategies as st

from functions.webapp import contract, envelope, finished
from functions.webapp.contract import Cause, Change, Key
from functions.webapp.errors import BadEvent, MalformedEvent, UnknownEvent
from functions.webapp.finished import Fault, Finished, Trigger
from functions.webapp.outcome import Outcome
from tests.builders import UID
from tests.schema_values import json_values

GROUP = "platform.example.com"
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PATCH = {"verb": "patch", "kind": "Deployment", "name": "web"}
RUN = Finished(
    webapp=Key("team", "web", UID),
    outcome=Outcome.CREATED,
    trigger=Trigger("u.7.added", "com.example.platform.webapp.added.v1", "//s", "/w", Change.ADDED, Cause.WATCH, 3),
    trace_id=TRACE,
    span_id=SPAN,
    started_at=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
    duration_ms=12.5,
    attempts=2,
    generation=4,
    reason="Progressing",
    message="0 of 2 replicas are ready",
    plan=({"verb": "create", "kind": "Deployment", "name": "web"},),
    calls=({"method": "GET", "path": "/w"}, {"method": "POST", "path": "/d", "error": "already_exists"}),
    requeue_after=60,
    fault=Fault("api_unavailable", "refused"),
    revision="webapp-reconcile-00001",
)


def sent(run: Finished) -> CloudEvent:
    """The run as a receiver's edge reads it."""
    headers, body = envelope.encode_binary(finished.event(run, GROUP))
    return envelope.decode(list(headers.items()), body)


def payload(run: Finished) -> Mapping[str, Any]:
    """The data that is sent for it."""
    return contract.payload(sent(run))


def data(**changes: Any) -> dict[str, Any]:
    """The data of RUN with some members replaced; a dotted name is one of `trigger` or `webapp`."""
    found = deepcopy(dict(payload(RUN)))
    for name, value in changes.items():
        outer, _, inner = name.partition("__")
        (found[outer] if inner else found)[inner or outer] = value
    return found


def parsed(body: dict[str, Any], type_: str = "com.mycompany.reconcile.finished.v1") -> Finished:
    return finished.parse(CloudEvent({"specversion": "1.0", "id": "1", "source": "//s", "type": type_}, body))


def test_what_is_sent_is_understood():
    assert finished.parse(sent(RUN)) == RUN


def test_what_is_not_known_is_left_out_and_read_as_such():
    bare = replace(RUN, generation=None, reason="", message="", plan=(), calls=(), requeue_after=None, fault=None)
    bare = replace(bare, revision="", webapp=Key("team", "web"))
    assert finished.parse(sent(bare)) == bare
    assert not {"generation", "reason", "message", "requeueAfterSeconds", "error", "revision"} & payload(bare).keys()


def test_envelope_names_the_run_and_what_caused_it():
    event = sent(RUN)
    assert event.get_type() == finished.event_type(GROUP) == "com.example.platform.reconcile.finished.v1"
    assert event.get_id() == f"u.7.added.{TRACE}.{SPAN}"
    assert (event.get_source(), event.get_subject()) == ("//s", "/w")
    assert (event.get_extension("causationid"), event.get_extension("traceparent")) == ("u.7.added", None)
    noted = finished.event(RUN, GROUP, f"00-{TRACE}-{SPAN}-01")
    assert noted.get_extension("traceparent") == f"00-{TRACE}-{SPAN}-01"
    assert event.get_time() == datetime(2026, 3, 1, 9, 30, 0, 12_500, tzinfo=UTC)
    assert payload(RUN)["startedAt"] == "2026-03-01T09:30:00.000000Z"


def test_runs_of_one_event_have_ids_of_their_own():
    again = replace(RUN, span_id="c" * 16)
    assert sent(again).get_id() != sent(RUN).get_id()


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("/spec/template/spec/containers/0/image", "nginx:2", True),
        ("/spec/replicas", 3, True),
        ("/metadata/labels/app", None, True),
        ("/spec/template/spec/containers/0/env/0/value", "hunter2", False),
        ("/spec/template/spec/containers/0/env", [{"name": "A", "value": "hunter2"}], False),
        ("/spec/template/spec/containers", [{"env": [{"name": "A", "value": "hunter2"}]}], False),
        ("/spec/template/spec/containers/0/envFrom", "hunter2", False),
        ("/metadata/labels/environment", "production", True),
    ],
)
def test_values_of_env_do_not_travel(path, value, told):
    step: dict[str, Any] = {**PATCH, "operations": [{"op": "replace", "path": path, "value": value}]}
    shown = payload(replace(RUN, plan=(step,)))
    [operation] = shown["plan"][0]["operations"]
    assert operation == {"op": "replace", "path": path, **({"value": value} if told else {})}
    assert "hunter2" not in json.dumps(shown)
    assert step["operations"][0]["value"] == value, "the report keeps it"


def test_long_messages_are_cut():
    long = "x" * 100_000
    found = finished.parse(sent(replace(RUN, message=long, fault=Fault("rejected", long))))
    assert found.fault is not None
    assert len(found.message) == len(found.fault.message) == finished.MAX_MESSAGE


def test_another_type_is_unknown():
    with pytest.raises(UnknownEvent, match=r"webapp\.added\.v1' is no finished reconcile"):
        parsed(data(), "com.example.platform.webapp.added.v1")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"webapp": None}, "data.webapp"),
        ({"webapp__name": "No Name"}, "data.webapp.name"),
        ({"outcome": "splendid"}, "data.outcome"),
        ({"outcome": None}, "data.outcome"),
        ({"generation": -1}, "data.generation"),
        ({"generation": True}, "data.generation"),
        ({"generation": 2**63}, "data.generation"),
        ({"reason": 7}, "data.reason"),
        ({"message": "x" * 5000}, "data.message"),
        ({"plan": {}}, "data.plan"),
        ({"plan": [{"verb": "create", "kind": "Service"}]}, "data.plan[0].name"),
        ({"plan": ["create"]}, "data.plan[0]"),
        ({"calls": [{"method": "GET", "path": "/"}, {"method": "GET"}]}, "data.calls[1].path"),
        ({"calls": [{"method": "GET", "path": "/"}] * 1001}, "data.calls"),
        ({"attempts": 0}, "data.attempts"),
        ({"requeueAfterSeconds": 0.5}, "data.requeueAfterSeconds"),
        ({"error": "no"}, "data.error"),
        ({"error": {}}, "data.error.type"),
        ({"eventId": ""}, "data.eventId"),
        ({"traceId": TRACE.upper()}, "data.traceId"),
        ({"spanId": TRACE}, "data.spanId"),
        ({"startedAt": "yesterday"}, "data.startedAt"),
        ({"startedAt": "0001-01-01T00:00:00+01:00"}, "data.startedAt"),
        ({"durationMs": -0.1}, "data.durationMs"),
        ({"durationMs": float("nan")}, "data.durationMs"),
        ({"durationMs": "1"}, "data.durationMs"),
        ({"trigger": []}, "data.trigger"),
        ({"trigger__type": None}, "data.trigger.type"),
        ({"trigger__cause": "boredom"}, "data.trigger.cause"),
        ({"trigger__change": []}, "data.trigger.change"),
        ({"trigger__coalesced": 0}, "data.trigger.coalesced"),
        ({"revision": {}}, "data.revision"),
    ],
    ids=lambda value: str(value)[:50],
)  # fmt: skip
def test_what_is_wrong_is_named(changes, field):
    with pytest.raises(MalformedEvent) as caught:
        parsed(data(**changes))
    assert caught.value.field == field
    assert len(str(caught.value)) < 300


@given(st.sampled_from(sorted(data())), json_values)
def test_no_member_whatever_is_a_defect(name, value):
    with suppress(BadEvent):
        parsed({**data(), name: value})


def test_members_that_nobody_asked_for_are_let_through():
    assert parsed({**data(), "more": 1}) == RUN
