"""Knative's own events, read as ours."""

from __future__ import annotations

from typing import Any

import pytest
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given
from hypothesis import strategies as st

from functions.webapp.apiserversource import parse
from functions.webapp.contract import Cause, Change, Key
from functions.webapp.errors import BadEvent, MalformedEvent, UnknownEvent
from functions.webapp.resources import DEPLOYMENT, OWNED, SERVICE
from tests.builders import UID, WEBAPP, children, stored, webapp
from tests.schema_values import json_values

OWNER = webapp(stored)
OURS = {
    "controller": st.just(True),
    "kind": st.just("WebApp"),
    "apiVersion": st.just(WEBAPP.api_version),
}


def event(kind: str, data: Any) -> CloudEvent:
    type_ = f"dev.knative.apiserver.{kind}"
    return CloudEvent({"specversion": "1.0", "id": "1", "source": "//s", "type": type_}, data)


def read(kind: str, data: Any) -> Any:
    return parse(event(kind, data), WEBAPP, OWNED)


def reference(obj: Any) -> dict[str, Any]:
    meta = {part: obj["metadata"][part] for part in ("namespace", "name")}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **meta}


@pytest.mark.parametrize(
    ("verb", "change"), [("add", Change.ADDED), ("update", Change.MODIFIED), ("delete", Change.DELETED)]
)
def test_a_webapp_is_known_by_its_uid_and_a_reference_by_name_alone(verb, change):
    whole = read(f"resource.{verb}", OWNER)
    assert (whole.webapp, whole.changed, whole.change) == (Key("team", "web", UID), WEBAPP, change)
    assert (whole.snapshot, whole.cause, whole.coalesced) == (None, Cause.WATCH, 1)
    assert read(f"ref.{verb}", reference(OWNER)).webapp == Key("team", "web", "")


def test_a_child_leads_to_its_controller():
    child = children(OWNER)[DEPLOYMENT]
    found = read("resource.update", child)
    assert (found.webapp, found.changed) == (Key("team", "web", UID), DEPLOYMENT)
    assert read("ref.update", reference(child)).webapp == Key("team", "web", "")


@pytest.mark.parametrize(
    "references",
    [
        None,
        [],
        "x",
        [{"kind": "WebApp"}],
        [{"kind": "Website", "apiVersion": "platform.example.com/v1", "name": "web", "uid": UID, "controller": True}],
        [{"kind": "WebApp", "apiVersion": "mycompany.com/v1", "name": "web", "uid": UID, "controller": True}],
    ],
)
def test_a_child_of_somebody_else_is_nobodys_business(references):
    child = children(OWNER)[SERVICE]
    assert child is not None
    assert read("resource.update", {**child, "metadata": {**child["metadata"], "ownerReferences": references}}) is None


def test_a_kind_that_no_webapp_owns_is_nobodys_business():
    assert read("resource.add", {"apiVersion": "v1", "kind": "Pod"}) is None
    assert read("ref.add", {"apiVersion": "apps/v2", "kind": "Deployment"}) is None


@pytest.mark.parametrize("kind", ["resource.patch", "whole.add", "ref", ""])
def test_a_type_that_it_does_not_send_is_unknown(kind):
    with pytest.raises(UnknownEvent):
        read(kind, OWNER)


def test_a_reference_without_a_name_is_malformed():
    with pytest.raises(MalformedEvent, match=r"data\.name"):
        read("ref.add", {"apiVersion": "v1", "kind": "Service", "namespace": "team"})


@given(
    st.sampled_from(["ref.add", "resource.update", "resource.delete"]),
    st.fixed_dictionaries(
        {"apiVersion": st.just("apps/v1"), "kind": st.just("Deployment")},
        optional={
            "metadata": json_values
            | st.fixed_dictionaries(
                {"name": st.just("web") | json_values, "namespace": st.just("team")},
                optional={
                    "ownerReferences": json_values
                    | st.lists(
                        st.fixed_dictionaries(OURS, optional={"name": json_values, "uid": json_values})
                    )
                },
            ),
            "name": json_values,
            "namespace": json_values,
        },
    )
    | json_values,
)  # fmt: skip
def test_no_data_raises_anything_but_a_bad_event(kind: str, data: Any):
    try:
        read(kind, data)
    except BadEvent:
        return
