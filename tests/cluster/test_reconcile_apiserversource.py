"""The function behind Knative's ApiServerSource: its events in both modes, and those that concern no WebApp."""

from __future__ import annotations

import json

from functions.webapp.resources import DEPLOYMENT, SERVICE
from tests.builders import hosted, webapp
from tests.cluster.admin import Raw
from tests.cluster.sender import Answer, Sender

HEADERS = {"ce_specversion": "1.0", "ce_id": "random", "ce_source": "https://10.96.0.1:443"}


def post(sender: Sender, kind: str, obj: Raw) -> Answer:
    """Send an object, or a reference to it, as `dev.knative.apiserver.<kind>`."""
    meta = {part: obj["metadata"][part] for part in ("name", "namespace")}
    told = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **meta} if kind.startswith("ref.") else obj
    named = {**HEADERS, "ce_type": f"dev.knative.apiserver.{kind}", "content_type": "application/json"}
    return sender.function.request("POST", "/", json.dumps(told).encode(), **named)


def test_a_webapp_is_reconciled_in_either_mode(sender):
    sender.apply(webapp(hosted, replicas=0))
    answer = post(sender, "ref.add", sender.webapp())
    assert (answer.status, answer.outcome) == (204, "created")
    sender.wait_available()
    assert post(sender, "resource.update", sender.webapp()).outcome == "updated"
    assert sender.condition("Ready")[:2] == ("True", "ScaledToZero")
    assert post(sender, "resource.update", sender.webapp()).outcome == "unchanged"
    assert post(sender, "ref.update", sender.webapp()).outcome == "unchanged"


def test_a_lost_child_is_made_again_in_either_mode(sender):
    sender.deploy(webapp(replicas=0))
    for kind, resource in (("resource.delete", SERVICE), ("ref.delete", DEPLOYMENT)):
        child = sender.child(resource)
        sender.admin.delete(resource, sender.namespace, "web")
        assert post(sender, kind, child).outcome == "created"


def test_what_concerns_no_webapp_is_ignored(sender):
    sender.deploy(webapp(replicas=0))
    child, mine = sender.child(SERVICE), sender.webapp()
    assert post(sender, "resource.delete", mine).outcome == "gone"
    assert post(sender, "resource.add", {**child, "kind": "Pod"}).outcome == "ignored"
    stranger = {**child, "metadata": {**child["metadata"], "ownerReferences": []}}
    assert post(sender, "resource.update", stranger).outcome == "ignored"
    of_another_kind = [{**child["metadata"]["ownerReferences"][0], "kind": "Website"}]
    theirs = {**child, "metadata": {**child["metadata"], "ownerReferences": of_another_kind}}
    assert post(sender, "resource.update", theirs).outcome == "ignored"


def test_a_type_that_it_does_not_send_is_refused(sender):
    sender.apply(webapp())
    assert post(sender, "resource.patch", sender.webapp()).status == 422
    assert post(sender, "whole.add", sender.webapp()).status == 422
