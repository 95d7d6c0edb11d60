"""The event contract: what is sent, what is understood, and what is said of an event that is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given
from hypothesis import strategies as st

from functions.webapp import contract, envelope
from functions.webapp.contract import Cause, Change, Key, Notice, ObjectRef
from functions.webapp.errors import BadEvent, MalformedEvent, UnknownEvent
from functions.webapp.resources import DEPLOYMENT, OWNED, SERVICE, Resource
from functions.webapp.resources import webapp as webapp_resource
from tests.builders import UID, WEBAPP, children, hosted, snapshot, stored, webapp
from tests.schema_values import json_values

KEY = Key("team", "web", UID)
REF = ObjectRef(DEPLOYMENT, "team", "web", "d-1", "4711")
NOTICE = Notice(KEY, REF, Change.MODIFIED, Cause.WATCH, coalesced=3)


def event(data: Any, type_: str = "com.example.platform.webapp.modified.v1") -> CloudEvent:
    return CloudEvent({"specversion": "1.0", "id": "1", "source": "//s", "type": type_}, data)


def parsed(**data: Any) -> contract.WebAppEvent:
    key = {"namespace": "team", "name": "web", "uid": UID}
    return contract.parse(event({"webapp": key, **data}), WEBAPP, OWNED)


def sent(notice: Notice, told: dict[str, Any]) -> CloudEvent:
    """The notice as a bridge sends it, as the edge of a function reads it."""
    owned = [json.dumps(child).encode() for child in told["owned"]]
    body = contract.data(notice, json.dumps(told["webapp"]).encode(), owned)
    found = contract.attributes(notice, group=WEBAPP.group, cluster="c-1", time=datetime(2026, 3, 1, tzinfo=UTC))
    headers = [(f"ce-{name}", str(value)) for name, value in found.items() if name not in {"datacontenttype", "time"}]
    return envelope.decode([*headers, ("content-type", "application/json")], body)


def test_what_is_sent_is_understood():
    owner = webapp(hosted, stored)
    told = snapshot(owner, children(owner))
    found = contract.parse(sent(NOTICE, told), WEBAPP, OWNED)
    assert (found.webapp, found.changed, found.change, found.cause, found.coalesced) == (
        *(KEY, DEPLOYMENT, Change.MODIFIED, Cause.WATCH, 3),
    )
    assert found.snapshot is not None
    assert found.snapshot.webapp == owner
    assert [found.snapshot.child(each) for each in OWNED] == told["owned"]


def test_a_snapshot_that_would_not_fit_is_left_out():
    large = {"webapp": {**webapp(stored), "padding": "x" * contract.MAX_EVENT_BYTES}, "owned": []}
    found = sent(NOTICE, large)
    assert contract.parse(found, WEBAPP, OWNED).snapshot is None


def test_an_id_is_the_same_for_the_same_change_and_no_other():
    assert NOTICE.id == "d-1.4711.modified"
    assert Notice(KEY, REF, Change.MODIFIED, Cause.RELIST).id == NOTICE.id
    assert Notice(KEY, REF, Change.DELETED, Cause.WATCH).id != NOTICE.id
    assert Notice(KEY, REF, Change.SYNC, Cause.RESYNC, tick="9").id == "d-1.4711.sync.9"


def test_types_are_the_group_reversed():
    other = webapp_resource("mycompany.com")
    assert contract.event_type("platform.example.com", "WebApp", Change.ADDED) == "com.example.platform.webapp.added.v1"
    known = dict(contract.known_types(other, OWNED))
    assert known["com.mycompany.deployment.deleted.v1"] == (DEPLOYMENT, Change.DELETED)
    assert known["com.mycompany.webapp.sync.v1"] == (other, Change.SYNC)
    assert len(known) == 16


def test_a_foreign_type_is_unknown():
    with pytest.raises(UnknownEvent, match=r"com\.example\.platform\.<kind>\.<change>\.v1"):
        contract.parse(event({}, "com.mycompany.webapp.added.v1"), WEBAPP, OWNED)


OBJECT = {"kind": "WebApp", "metadata": {"name": "web", "uid": UID, "resourceVersion": "1"}}


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"webapp": None}, "data.webapp"),
        ({"webapp": {"name": "web"}}, "data.webapp.namespace"),
        ({"webapp": {"namespace": "team", "name": ".."}}, "data.webapp.name"),
        ({"webapp": {"namespace": "team", "name": "web", "uid": 5}}, "data.webapp.uid"),
        ({"webapp": {"namespace": "team", "name": "web", "uid": "x" * 65}}, "data.webapp.uid"),
        ({"reason": "whim"}, "data.reason"),
        ({"reason": []}, "data.reason"),
        ({"snapshot": []}, "data.snapshot"),
        ({"snapshot": {"webapp": OBJECT, "owned": {}}}, "data.snapshot.owned"),
        ({"snapshot": {"owned": []}}, "data.snapshot.webapp.metadata"),
        ({"snapshot": {"webapp": {**OBJECT, "kind": "Pod"}}}, "data.snapshot.webapp.kind"),
        ({"snapshot": {"webapp": {**OBJECT, "kind": None}}}, "data.snapshot.webapp.kind"),
        ({"snapshot": {"webapp": OBJECT, "owned": [OBJECT, 7]}}, "data.snapshot.owned[1].metadata"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named(data: dict[str, Any], field: str):
    with pytest.raises(MalformedEvent) as caught:
        parsed(**data)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "version", ["", "0", "00", "-1", "+1", "1.0", "latest", "\u0661", str(2**64), "9" * 21, 1, None]
)
def test_a_version_that_would_guard_nothing_is_refused(version: Any):
    told = {**OBJECT, "metadata": {**OBJECT["metadata"], "resourceVersion": version}}  # type: ignore[dict-item]
    with pytest.raises(MalformedEvent, match="above 0"):
        parsed(snapshot={"webapp": told})


@pytest.mark.parametrize("found", [None, 0, -1, True, "3", 2**70, 1.5, []])
def test_a_count_that_is_none_counts_as_one(found: Any):
    assert parsed(coalesced=found).coalesced == 1


def test_only_a_child_of_the_webapps_name_and_kind_is_its_child():
    owner = webapp(stored)
    deployment = children(owner)[DEPLOYMENT]
    assert deployment is not None
    copied = {**deployment, "metadata": {**deployment["metadata"], "name": "copy"}}
    told = contract.Snapshot(owner, (copied, deployment))
    assert told.child(DEPLOYMENT) is deployment
    assert told.child(SERVICE) is None


@given(json_values | st.dictionaries(st.sampled_from(["webapp", "reason", "snapshot", "coalesced"]), json_values))
def test_no_data_raises_anything_but_a_bad_event(data: Any):
    try:
        contract.parse(event(data), WEBAPP, OWNED)
    except BadEvent:
        return


@given(st.text(), st.sampled_from(["namespace", "name"]))
def test_no_accepted_name_leaves_its_place_in_a_path(text: str, part: str):
    try:
        key = contract.read_key({"namespace": "a", "name": "b", part: text}, "data.webapp")
    except MalformedEvent:
        return
    path = Resource("g", "v1", "K", "things").path(key.namespace, key.name)
    assert path.split("/")[1:] == ["apis", "g", "v1", "namespaces", key.namespace, "things", key.name]
    assert not {".", "..", ""} & set(path.split("/")[1:])
