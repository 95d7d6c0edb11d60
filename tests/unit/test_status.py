"""The status, condition by condition."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.webapp import condition
from functions.webapp.condition import ConditionType, Reason
from functions.webapp.resources import DEPLOYMENT
from functions.webapp.status import FAILURES, Failure, Observation, status
from functions.webapp.status import condition as find
from functions.webapp.status_model import WebAppStatus
from tests.builders import (
    NOW,
    asking,
    available,
    children,
    complaining,
    described,
    stored,
    webapp,
    with_meta,
    with_status,
)
from tests.schema_values import json_values

TOOK_LONG = complaining("Progressing", "False", "ProgressDeadlineExceeded", 'ReplicaSet "web-1" has timed out')
REFUSED = complaining("ReplicaFailure", "True", "FailedCreate", 'pods "web-1-abc12" is forbidden: exceeded quota: q')
UNTOLD = with_status(observedGeneration=0)
ZERO = asking(replicas=0)
FAILURE = Failure(Reason.QUOTA_EXCEEDED, "create Service: exceeded quota: q")


def deployment(*adjectives: Any) -> dict[str, Any]:
    child = children(webapp(stored, replicas=2))[DEPLOYMENT]
    assert isinstance(child, dict)
    return described(child, *adjectives)


def observed(*adjectives: Any, **fields: Any) -> Observation:
    return Observation(**{"deployment": deployment(*adjectives), "url": None, "selector": "app=web", **fields})


def told(seen: Observation, owner: dict[str, Any] | None = None) -> dict[str, tuple[str, str]]:
    found = status(owner or webapp(stored), seen, NOW)
    return {each["type"]: (each["status"], each["reason"]) for each in found["conditions"]}


def table(ready: tuple[str, str], progressing: tuple[str, str], degraded: str = "AsExpected") -> dict[str, Any]:
    return {"Ready": ready, "Progressing": progressing, "Degraded": (str(degraded != "AsExpected"), degraded)}


COMPLETE = ("False", "RolloutComplete")
ROLLING = ("True", "Progressing")
TOO_LONG = ("False", "ProgressDeadlineExceeded")
NOT_YET = ("False", "Progressing")


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(observed(deployment=None), table(NOT_YET, ROLLING), id="no Deployment"),
        pytest.param(observed(), table(NOT_YET, ROLLING), id="Deployment without a status"),
        pytest.param(observed(available, UNTOLD), table(NOT_YET, ROLLING), id="status of an older generation"),
        pytest.param(observed(available), table(("True", "Available"), COMPLETE), id="every pod serves"),
        pytest.param(observed(ZERO, available), table(("True", "ScaledToZero"), COMPLETE), id="scaled to zero"),
        pytest.param(
            observed(available, with_status(availableReplicas=1)),
            table(("False", "MinimumReplicasUnavailable"), COMPLETE),
            id="one pod is away",
        ),
        pytest.param(
            observed(available, with_status(updatedReplicas=1)), table(NOT_YET, ROLLING), id="old pods still serve"
        ),
        pytest.param(
            observed(available, with_status(replicas=3)), table(NOT_YET, ROLLING), id="old pods are still there"
        ),
        pytest.param(
            observed(available, UNTOLD, TOOK_LONG),
            table(TOO_LONG, TOO_LONG, "ProgressDeadlineExceeded"),
            id="rollout takes too long",
        ),
        pytest.param(
            observed(REFUSED), table(("False", "ReplicaFailure"), ROLLING, "ReplicaFailure"), id="pods are refused"
        ),
        pytest.param(
            observed(available, REFUSED),
            table(("True", "Available"), COMPLETE, "ReplicaFailure"),
            id="pods are refused while enough serve",
        ),
        pytest.param(
            observed(available, failure=FAILURE),
            table(("False", "QuotaExceeded"), COMPLETE, "QuotaExceeded"),
            id="a child cannot be written",
        ),
        pytest.param(
            observed(REFUSED, failure=FAILURE),
            table(("False", "QuotaExceeded"), ROLLING, "QuotaExceeded"),
            id="our own failure comes first",
        ),
        pytest.param(
            observed(available, paused=True), table(("True", "Paused"), ("False", "Paused")), id="paused and serving"
        ),
        pytest.param(
            observed(deployment=None, paused=True),
            table(("False", "Paused"), ("False", "Paused")),
            id="paused before anything was there",
        ),
    ],
)  # fmt: skip
def test_conditions_follow_from_what_was_seen(seen: Observation, expected: dict[str, Any]):
    assert told(seen) == expected


def test_counts_are_the_deployments():
    found = status(webapp(stored), observed(available, with_status(readyReplicas=1)), NOW)
    assert (found["replicas"], found["readyReplicas"], found["updatedReplicas"], found["availableReplicas"]) == (
        *(2, 1, 2, 2),
    )


def test_generation_selector_and_url_are_told():
    owner = described(webapp(stored), with_meta(generation=7))
    found = status(owner, observed(url="http://web.example.com/"), NOW)
    assert (found["observedGeneration"], found["selector"], found["url"]) == (7, "app=web", "http://web.example.com/")
    assert {each["observedGeneration"] for each in found["conditions"]} == {7}
    assert "url" not in status(owner, observed(), NOW)


def test_the_same_observation_gives_the_same_status_later():
    owner = webapp(stored)
    before = status(owner, observed(available), NOW)
    assert status({**owner, "status": before}, observed(available), NOW + timedelta(days=1)) == before


def test_transition_time_moves_only_when_the_status_flips():
    owner = webapp(stored)
    first = status(owner, observed(), NOW)
    later = status({**owner, "status": first}, observed(available), NOW + timedelta(minutes=1))
    times = {each["type"]: each["lastTransitionTime"] for each in later["conditions"]}
    assert times == {
        "Ready": "2026-03-01T09:31:00Z",
        "Progressing": "2026-03-01T09:31:00Z",
        "Degraded": "2026-03-01T09:30:00Z",
    }
    paused = status({**owner, "status": later}, observed(available, paused=True), NOW + timedelta(minutes=2))
    assert {each["type"]: each["lastTransitionTime"] for each in paused["conditions"]} == times  # reasons alone moved


def test_foreign_conditions_stay_in_their_places():
    theirs = [{"type": "Theirs", "status": "True"}, {"type": "Other", "status": "Unknown"}]
    ours = status(webapp(stored), observed(), NOW)["conditions"]
    mixed = [theirs[0], ours[2], theirs[1], ours[0]]
    owner = {**webapp(stored), "status": {"conditions": mixed}}
    assert [each["type"] for each in status(owner, observed(available), NOW)["conditions"]] == [
        *("Theirs", "Degraded", "Other", "Ready", "Progressing"),
    ]
    assert status(owner, observed(available), NOW)["conditions"][0] == theirs[0]


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        (
            'pods "web-5f7c9-abc12" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0',
            "pods is forbidden: exceeded quota: q",
        ),
        ('Pod "web-5f7c9-abc12" is invalid: spec.x: Required value', "Pod is invalid: spec.x: Required value"),
        ('deployments.apps "web" is forbidden: no', 'deployments.apps "web" is forbidden: no'),
        ('services "pods" is forbidden', 'services "pods" is forbidden'),
    ],
)
def test_what_changes_by_itself_is_cut_from_messages(message: str, kept: str):
    assert Failure(Reason.REPLICA_FAILURE, message).message == kept


def test_long_messages_are_cut():
    assert Failure(Reason.REJECTED, "x" * 512).message == "x" * 512
    cut = Failure(Reason.REJECTED, "x" * 513).message
    assert len(cut) == 512
    assert cut.endswith("x…")


def test_every_failure_is_a_reason_of_the_model():
    assert set(Reason) >= FAILURES
    assert {Reason.AS_EXPECTED, Reason.PAUSED, Reason.AVAILABLE}.isdisjoint(FAILURES)


@pytest.mark.parametrize("seen", [observed(), observed(available), observed(deployment=None, failure=FAILURE)])
def test_the_model_accepts_every_status(seen: Observation):
    raw = status(webapp(stored), seen, NOW)
    assert WebAppStatus.model_validate(raw, by_alias=True, by_name=False).dump() == raw


@given(st.dictionaries(st.sampled_from(["conditions", "url", "observedGeneration"]), json_values) | json_values)
def test_no_garbage_in_the_old_status_makes_it_raise(before: Any):
    status({**webapp(stored), "status": before}, observed(available), NOW)


@given(json_values, json_values)
def test_no_garbage_in_the_deployment_makes_it_raise(spec: Any, raw: Any):
    status(webapp(stored), observed(deployment={"metadata": raw, "spec": spec, "status": raw}), NOW)


@given(st.lists(st.fixed_dictionaries({"type": json_values, "status": json_values})))
def test_conditions_of_any_type_are_passed_over(conditions: list[Any]):
    found = status({**webapp(stored), "status": {"conditions": conditions}}, observed(), NOW)
    assert {each.value for each in ConditionType} <= {str(each["type"]) for each in found["conditions"]}
    assert find({"conditions": conditions}, condition.ConditionType.READY).get("type") in {None, "Ready"}
