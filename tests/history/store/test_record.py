"""A finished run as a row and as an object: the same for each delivery, in names that Kubernetes accepts."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.history.record import OUTCOMES, record, to_object, trigger_label
from functions.webapp import envelope, finished
from functions.webapp.contract import Change, Key
from functions.webapp.errors import MalformedEvent
from functions.webapp.finished import Fault
from functions.webapp.outcome import Outcome
from tests.history.runs import GROUP, HISTORY, NOON, row, run

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
moments = st.integers(0, 253_402_214_400_000_000).map(lambda micros: EPOCH + timedelta(microseconds=micros))
parts = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?", fullmatch=True)
webapps = st.lists(parts, min_size=1, max_size=4).map(".".join)


def made(number=1, **changes):
    found = row(number, **changes)
    return to_object(asdict(found), HISTORY, 7)


@given(webapps, moments, st.text(), st.text(max_size=300))
def test_every_name_is_one_that_kubernetes_accepts(webapp, moment, source, event_id):
    found = record(source, event_id, run(1, webapp=webapp, started_at=moment))
    assert SUBDOMAIN.fullmatch(found.name)
    assert len(found.name) <= 253


@given(moments, moments)
def test_names_sort_by_the_time_at_which_a_run_began(one, other):
    first, second = (row(1, started_at=moment).name for moment in (one, other))
    if abs(one - other) >= timedelta(milliseconds=1):
        assert (first < second) is (one < other)


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_uid_and_name_follow_source_and_id_alone(one, other):
    first, again, second = (
        record(one[0], one[1], run(1)),
        record(one[0], one[1], run(1, reason="X")),
        record(other[0], other[1], run(1)),
    )
    assert (first.uid, first.name) == (again.uid, again.name)
    if "\0" not in "".join([*one, *other]):
        assert (first.uid == second.uid) is (first.name == second.name) is (one == other)


def test_the_same_event_in_either_mode_is_the_same_row():
    def arrived(encoded):
        headers, body = encoded
        event = envelope.decode(list(headers.items()), body)
        return record(event.get_source(), event.get_id(), finished.parse(event))

    event = finished.event(run(3), GROUP)
    assert arrived(envelope.encode_binary(event)) == arrived(envelope.encode_structured(event))


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome.CREATED, "Converged"),
        (Outcome.UPDATED, "Converged"),
        (Outcome.UNCHANGED, "NoChange"),
        (Outcome.BLOCKED, "Failed"),
        (Outcome.FAILED, "Retry"),
        (Outcome.STALE, "Superseded"),
        (Outcome.DELETING, "Gone"),
        (Outcome.GONE, "Gone"),
    ],
)
def test_each_way_to_end_has_a_name(outcome, told):
    found = made(outcome=outcome)
    assert found["status"]["outcome"] == found["metadata"]["labels"]["outcome"] == told


def test_every_outcome_but_ignored_has_one():
    assert set(Outcome) - set(OUTCOMES) == {Outcome.IGNORED}


@given(st.text(max_size=120), st.sampled_from(list(Change)))
def test_every_trigger_makes_a_label_or_none(type_, change):
    label = trigger_label(replace(run(1).trigger, type=type_, change=change))
    assert label == "" or LABEL.fullmatch(label)


@pytest.mark.parametrize(
    ("type_", "change", "label"),
    [
        ("com.example.platform.webapp.modified.v1", Change.MODIFIED, "webapp.modified"),
        ("com.mycompany.deployment.deleted.v1", Change.DELETED, "deployment.deleted"),
        ("com.mycompany.webapp.sync.v1", Change.SYNC, "webapp.sync"),
        ("dev.knative.apiserver.ref.update", Change.MODIFIED, "apiserver.ref.update"),
    ],
)
def test_the_trigger_is_the_kind_and_what_happened_to_it(type_, change, label):
    assert trigger_label(replace(run(1).trigger, type=type_, change=change)) == label


def test_the_object_tells_when_why_what_and_where_the_trace_is():
    calls = [
        {"method": "GET", "path": "/apis/platform.example.com/v1/namespaces/team/webapps/web"},
        {"method": "PATCH", "path": "/apis/apps/v1/namespaces/team/deployments/web", "error": "conflict"},
        {"method": "PATCH", "path": "/apis/apps/v1/namespaces/team/deployments/web"},
        {"method": "POST", "path": "/api/v1/namespaces/team/services", "error": "forbidden"},
        {"method": "PUT", "path": "/apis/platform.example.com/v1/namespaces/team/webapps/web/status"},
        {"method": "POST", "path": "/apis/events.k8s.io/v1/namespaces/team/events", "error": "forbidden"},
    ]
    found = made(attempts=2, calls=calls, outcome=Outcome.BLOCKED, reason="Forbidden", message="no", revision="r-1")
    assert found["metadata"]["creationTimestamp"] == "2026-03-01T12:00:01Z"
    assert found["metadata"]["resourceVersion"] == "7"
    assert "ownerReferences" not in found["metadata"]
    assert found["spec"]["trigger"]["cause"] == "watch"
    assert found["status"] == {
        "outcome": "Failed",
        "reason": "Forbidden",
        "observedGeneration": 2,
        "startTime": "2026-03-01T12:00:01.000000Z",
        "completionTime": "2026-03-01T12:00:01.012500Z",
        "durationMs": 12.5,
        "attempt": 2,
        "actions": [
            {"verb": "patch", "kind": "Deployment", "name": "web", "result": "Done"},
            {"verb": "patch", "kind": "Deployment", "name": "web", "result": "conflict"},
            {"verb": "create", "kind": "Service", "name": "web", "result": "forbidden"},
        ],
        "error": {"reason": "Forbidden", "message": "no"},
        "trace": {"traceID": f"{2:032x}", "spanID": f"{2:016x}"},
        "revision": "r-1",
    }


def test_a_failed_run_says_what_failed():
    found = made(outcome=Outcome.FAILED, fault=Fault("api_unavailable", "refused"))
    assert found["status"]["error"] == {"reason": "api_unavailable", "message": "refused"}


def test_a_run_that_went_well_has_no_error():
    assert "error" not in made(reason="Available", message="fine")["status"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"started_at": EPOCH - timedelta(microseconds=1)}, "data.startedAt"),
        ({"started_at": datetime(1, 1, 1, tzinfo=UTC)}, "data.startedAt"),
        ({"duration_ms": 1e18}, "data.durationMs"),
        ({"started_at": datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), "duration_ms": 5000}, "data.durationMs"),
    ],
)
def test_a_time_that_no_object_can_tell_is_malformed(changes, field):
    with pytest.raises(MalformedEvent, match=field):
        row(1, **changes)


def test_no_value_of_a_patch_is_kept():
    operations = [{"op": "replace", "path": "/spec/template/spec/containers/0/env/0/value", "value": "s3cret"}]
    step = {"verb": "patch", "kind": "Deployment", "name": "web", "operations": operations}
    assert "s3cret" not in json.dumps(made(plan=(step,)))


def test_a_name_that_is_too_long_for_a_label_is_in_the_spec_alone():
    found = made(webapp="a" * 64)
    assert "webapp" not in found["metadata"]["labels"]
    assert found["spec"]["webAppRef"]["name"] == "a" * 64


def test_the_body_is_ascii_whatever_was_told():
    nasty = "\0 \ud800 ü \u2028"
    assert row(1, message=nasty, reason=nasty, outcome=Outcome.BLOCKED).body.isascii()
    assert made(message=nasty, outcome=Outcome.BLOCKED)["status"]["error"]["message"] == nasty


def test_a_uid_that_is_not_known_is_left_out():
    assert made()["spec"]["webAppRef"] == {"name": "web", "uid": "7f0c2c0e-0000-4000-8000-000000000001"}
    run_without = run(1)
    assert Key("team", "web").uid == ""
    found = record("//s", "1", type(run_without)(**{**fields(run_without), "webapp": Key("team", "web")}))
    assert json.loads(found.body)["spec"]["webAppRef"] == {"name": "web"}


def fields(found):
    return {name: getattr(found, name) for name in found.__slots__}


def test_the_first_run_of_all_began_at_noon():
    assert row(0).started == int(NOON.timestamp() * 1e6)
