"""The plan: which writes a WebApp needs, and which none."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.webapp import contract, plan
from functions.webapp.plan import Observed, Plan, Subject, guarded
from functions.webapp.resources import DEPLOYMENT, INGRESS, OWNED, SERVICE
from tests.builders import (
    NOW,
    UID,
    WEBAPP,
    asking,
    available,
    children,
    deleting,
    described,
    hosted,
    paused,
    places,
    someone_elses,
    stored,
    webapp,
    with_meta,
)
from tests.schema_values import json_values

NOTHING: Observed = dict.fromkeys(OWNED)
EMPTY = Plan((), None)


def settled(owner: dict[str, Any]) -> tuple[dict[str, Any], Observed]:
    """The WebApp and its children once every pod serves and the status says so."""
    observed = children(owner)
    deployment = observed[DEPLOYMENT]
    assert isinstance(deployment, dict)
    observed[DEPLOYMENT] = available(deployment)
    status = Subject.read(owner, WEBAPP).status(observed, None, NOW)
    return {**owner, "status": status}, observed


def decided(owner: dict[str, Any], observed: Observed) -> Plan:
    subject = Subject.read(owner, WEBAPP)
    found = Plan(plan.steps(subject, observed), subject.status(observed, None, NOW))
    assert plan.nothing_to_do(subject, observed, NOW) == (found == EMPTY)
    assert not (plan.edited(owner) and found == EMPTY)
    return found


def test_a_new_webapp_needs_everything_in_write_order():
    found = decided(webapp(hosted, stored), NOTHING)
    assert str(found) == "create Deployment, create Service, create Ingress, update status"


def test_without_a_host_there_is_no_ingress():
    assert str(decided(webapp(stored), NOTHING)) == "create Deployment, create Service, update status"


def test_a_settled_webapp_needs_nothing():
    found = decided(*settled(webapp(hosted, stored)))
    assert found == EMPTY
    assert str(found) == "nothing"


def test_an_edit_patches_what_it_changes_and_nothing_else():
    owner, observed = settled(webapp(hosted, stored))
    edited = described(owner, asking(image="nginx:2"), with_meta(generation=2))
    found = decided(edited, observed)
    assert str(found) == "patch Deployment, update status"
    assert found.steps[0].operations == (
        {"op": "test", "path": "/spec/template/spec/containers/0/name", "value": "app"},
        {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:2"},
    )


def test_a_host_that_goes_takes_the_ingress_with_it():
    owner, observed = settled(webapp(hosted, stored))
    found = decided(described(owner, asking(host=None)), observed)
    assert str(found) == "delete Ingress, update status"
    assert found.steps[0].target == observed[INGRESS]


def test_an_ingress_of_somebody_else_is_not_deleted():
    owner, observed = settled(webapp(stored))
    theirs = children(webapp(hosted, stored))[INGRESS]
    assert isinstance(theirs, dict)
    assert decided(owner, {**observed, INGRESS: someone_elses(theirs)}) == EMPTY


@pytest.mark.parametrize("resource", OWNED, ids=lambda each: each.kind)
def test_a_child_of_somebody_else_is_never_patched(resource: Any):
    owner, observed = settled(webapp(hosted, stored))
    theirs = observed[resource]
    assert isinstance(theirs, dict)
    found = decided(described(owner, asking(image="x", port=1)), {**observed, resource: someone_elses(theirs)})
    assert [step.verb for step in found.steps if step.resource == resource] == ["create"]


@pytest.mark.parametrize("adjective", [paused, deleting], ids=["paused", "deleting"])
def test_paused_and_deleted_webapps_write_no_child(adjective: Any):
    assert decided(webapp(hosted, stored, adjective), NOTHING).steps == ()


def test_a_webapp_on_its_way_out_gets_no_status():
    assert decided(webapp(stored, deleting), NOTHING) == EMPTY


def test_an_invalid_spec_writes_no_child_and_names_the_field():
    found = decided(webapp(stored, port=0), NOTHING)
    assert found.steps == ()
    assert found.status is not None
    degraded = next(each for each in found.status["conditions"] if each["type"] == "Degraded")
    assert (degraded["status"], degraded["reason"]) == ("True", "InvalidSpec")
    assert degraded["message"].startswith("spec.port: 0 must be at least 1")


def test_a_patch_asserts_that_we_control_the_object_at_that_version():
    owner, observed = settled(webapp(stored))
    service = observed[SERVICE]
    assert isinstance(service, dict)
    (ours,) = service["metadata"]["ownerReferences"]
    shared = with_meta(ownerReferences=["garbage", {"uid": UID}, ours])(service)
    (step,) = decided(described(owner, asking(port=81)), {**NOTHING, **observed, SERVICE: shared}).steps[1:]
    assert guarded(step, UID)[:3] == [
        {"op": "test", "path": "/metadata/ownerReferences/2/uid", "value": UID},
        {"op": "test", "path": "/metadata/ownerReferences/2/controller", "value": True},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "200"},
    ]


def test_a_child_of_another_name_is_not_taken_for_ours():
    owner, observed = settled(webapp(stored))
    deployment = observed[DEPLOYMENT]
    assert isinstance(deployment, dict)
    copied = with_meta(name="web-copy")(deployment)
    told = contract.Snapshot(owner, (copied, deployment))
    assert told.child(DEPLOYMENT) == deployment
    assert contract.Snapshot(owner, (copied,)).child(DEPLOYMENT) is None


def test_a_child_in_another_namespace_is_not_taken_for_ours():
    owner, observed = settled(webapp(stored))
    deployment = observed[DEPLOYMENT]
    assert isinstance(deployment, dict)
    assert contract.Snapshot(owner, (with_meta(namespace="else")(deployment),)).child(DEPLOYMENT) is None


def test_a_told_step_shows_the_operations_of_a_patch():
    owner, observed = settled(webapp(stored))
    (step,) = decided(described(owner, asking(replicas=3)), observed).steps
    assert step.told() == {
        "verb": "patch",
        "kind": "Deployment",
        "name": "web",
        "operations": [{"op": "replace", "path": "/spec/replicas", "value": 3}],
    }


@st.composite
def forged(draw: st.DrawFn) -> tuple[dict[str, Any], Observed]:
    """A WebApp and its children with anything in any place."""
    owner, observed = settled(webapp(hosted, stored, env=[{"name": "A", "value": "b"}]))
    told: dict[str, Any] = deepcopy({"webapp": owner, **{each.kind: observed[each] for each in OWNED}})
    for _ in range(draw(st.integers(1, 4))):
        *above, last = draw(st.sampled_from([place for place in places(told) if len(place) > 1]))
        parent = told
        for step in above:
            parent = parent[step]
        parent[last] = draw(json_values | st.sampled_from(["9e999999Ki", [], {}, [[]], -1, True, "0"]))
    return told["webapp"], {each: told[each.kind] for each in OWNED}


@given(forged())
def test_no_forged_state_makes_it_raise(state: tuple[dict[str, Any], Observed]):
    owner, observed = state
    found = decided(owner, observed)
    for step in found.steps:
        if step.verb == "patch":
            guarded(step, Subject.read(owner, WEBAPP).uid)


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status", "kind"]), json_values), st.lists(json_values))
def test_no_garbage_makes_it_raise(owner: dict[str, Any], owned: list[Any]):
    observed = [child if isinstance(child, dict) else None for child in [*owned, *NOTHING]]
    decided(owner, dict(zip(OWNED, observed, strict=False)))
