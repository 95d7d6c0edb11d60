"""The envelope: what is refused as no review, and what an answer looks like."""

import base64
import json

import pytest

from functions.admission import review as envelope
from functions.admission.verdict import Reason, Verdict
from tests.admission.pods import CASES, judged, review_of


def with_(**fields):
    return json.dumps({**review_of({}), **fields}).encode()


def request_with(**fields):
    return json.dumps(review_of({}, **fields)).encode()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"[]", "body"),
        (b"\xff", "body"),
        (b'{"kind": 1, "kind": 2}', "body"),
        (b"[" * 200000, "body"),
        (with_(apiVersion="admission.k8s.io/v1beta1"), "apiVersion"),
        (with_(apiVersion=None), "apiVersion"),
        (with_(kind="ConversionReview"), "kind"),
        (with_(request=None), "request"),
        (with_(request=[]), "request"),
        (request_with(uid=""), "request.uid"),
        (request_with(uid=7), "request.uid"),
        (request_with(operation=None), "request.operation"),
        (request_with(namespace=["x"]), "request.namespace"),
        (request_with(object="x"), "request.object"),
        (request_with(kind="Pod"), "request.kind"),
    ],
)
def test_what_is_no_review_is_refused_by_field(body, field):
    with pytest.raises(envelope.MalformedReview) as refused:
        envelope.parse(body)
    assert refused.value.field == field
    assert refused.value.answer == 400


def test_unsupported_version_is_told_the_one_to_ask_with():
    with pytest.raises(envelope.MalformedReview, match=r"must be admission\.k8s\.io/v1"):
        envelope.parse(with_(apiVersion="admission.k8s.io/v1beta1"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_the_api_server_sends_is_read(case):
    asked = json.loads(case.body)["request"]
    review = case.review
    assert (review.uid, review.operation, review.namespace) == (asked["uid"], asked["operation"], asked["namespace"])
    assert review.is_pod
    assert review.title


def test_name_of_a_pod_with_generate_name_is_the_generate_name():
    assert judged({"metadata": {"generateName": "web-"}}, name="").title == "web-"


def test_answer_echoes_uid_version_and_kind():
    told = envelope.answer(judged({}), Verdict(Reason.COMPLIANT))
    assert told == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": judged({}).uid, "allowed": True, "auditAnnotations": {"reason": "compliant"}},
    }


def test_patch_comes_with_its_type_and_an_empty_one_not_at_all():
    operations = [{"op": "add", "path": "/a", "value": "é"}]
    response = envelope.answer(judged({}), Verdict(Reason.INJECTED, patch=operations))["response"]
    assert response["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(response["patch"])) == operations
    assert not {"patch", "patchType"} & envelope.answer(judged({}), Verdict(Reason.OPTED_OUT))["response"].keys()


def test_denial_is_forbidden_with_its_message():
    response = envelope.answer(judged({}), Verdict(Reason.VIOLATION, allowed=False, message="no"))["response"]
    assert response["allowed"] is False
    assert response["status"] == {"code": 403, "reason": "Forbidden", "message": "no"}


def test_warnings_are_cut_to_what_clients_show():
    response = envelope.answer(judged({}), Verdict(Reason.COMPLIANT, warnings=["é" * 300] * 20))["response"]
    assert {len(each) for each in response["warnings"]} == {256}
    assert sum(len(each.encode()) for each in response["warnings"]) <= 4096
