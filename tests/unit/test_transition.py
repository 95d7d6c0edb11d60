"""The Kubernetes Event for a change of the Degraded reason."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from functions.reconcile.transition import event
from functions.webapp.condition import Reason
from tests.builders import NOW, UID, WEBAPP, stored, webapp, with_status


def degraded(reason: str, since: str = "2026-03-01T09:00:00Z", message: str = "why", generation: int = 1) -> Any:
    told = {
        "type": "Degraded",
        "status": str(reason != "AsExpected"),
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
        "observedGeneration": generation,
    }
    return {"conditions": [told]}


def told(before: Any, after: Any, **annotations: str) -> Any:
    return event(webapp(stored, with_status(**before)), WEBAPP, after, NOW, annotations)


def test_a_failure_is_a_warning_with_its_message():
    found = told({}, degraded("NameConflict"), trace="1")
    assert (found["type"], found["reason"], found["note"]) == ("Warning", "NameConflict", "why")
    assert found["regarding"] == {
        "apiVersion": "platform.example.com/v1",
        "kind": "WebApp",
        "namespace": "team",
        "name": "web",
        "uid": UID,
    }
    assert found["metadata"]["namespace"] == "team"
    assert found["metadata"]["annotations"] == {"trace": "1"}
    assert found["eventTime"] == "2026-03-01T09:30:00.000000Z"


def test_a_recovery_is_normal_and_names_what_is_over():
    found = told(degraded("QuotaExceeded"), degraded("AsExpected"))
    assert (found["type"], found["reason"], found["note"]) == ("Normal", "Recovered", "QuotaExceeded is over")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, degraded("AsExpected")),
        (degraded("AsExpected"), degraded("AsExpected", generation=2)),
        (degraded("Forbidden"), degraded("Forbidden", message="another", generation=2)),
        (degraded("AsExpected"), {}),
    ],
)
def test_what_is_no_change_of_a_failure_is_not_told(before, after):
    assert told(before, after) is None


def test_one_failure_after_another_is_told():
    assert told(degraded("Forbidden"), degraded("QuotaExceeded"))["reason"] == "QuotaExceeded"


def test_a_name_follows_from_the_transition_alone():
    before, after = degraded("AsExpected"), degraded("Forbidden")
    first = told(before, after)["metadata"]["name"]
    owner = webapp(stored, with_status(**before))
    again = event(owner, WEBAPP, degraded("Forbidden", message="x"), NOW + timedelta(hours=1), {})
    assert again is not None
    assert again["metadata"]["name"] == first
    assert told(before, degraded("Forbidden", since="2026-03-01T09:01:00Z"))["metadata"]["name"] != first
    assert told(before, degraded("Rejected"))["metadata"]["name"] != first
    assert len(first.removeprefix("web.")) == 16


def test_a_note_is_cut_to_what_an_event_can_hold():
    assert len(told({}, degraded("Rejected", message="x" * 5000))["note"]) == 1024


def test_every_reason_fits_an_event():
    assert max(len(each) for each in Reason) <= 128  # events.k8s.io/v1 validation
