"""Pure: the envelope of admission webhooks, `AdmissionReview` of admission.k8s.io/v1.

A review that is no review is an error of the caller (400), which failurePolicy rules; a verdict is always 200.
Sources: `admission/v1/types.go` of k8s.io/api; for how answers are judged, k8s.io/apiserver
`plugin/webhook/request/admissionreview.go`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from functions.admission.verdict import Verdict
from functions.webapp import strict_json
from functions.webapp.errors import WebAppError
from functions.webapp.resources import RawObject

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
WARNING_LIMIT = 256
"""Characters in one warning that every client shows; all of them together may have 4096 (admission/v1)."""

_WARNINGS_LIMIT = 4096


class MalformedReview(WebAppError):
    """The body is no AdmissionReview v1 that can be answered; `field` names the part."""

    error_type: ClassVar[str] = "malformed_review"
    answer: ClassVar[int] = 400

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


@dataclass(frozen=True, slots=True)
class Review:
    """What the API server asks about. `obj` is the object as it would be stored, `old` the one that is.

    `group`, `kind` and `resource` are those that the object was converted to; `name` is empty on a create with
    generateName.
    """

    uid: str
    operation: str
    group: str
    kind: str
    resource: str
    subresource: str
    namespace: str
    name: str
    dry_run: bool
    obj: RawObject
    old: RawObject

    @property
    def is_pod(self) -> bool:
        """Whether it is about a Pod or one of its subresources."""
        return self.group == "" and self.resource == "pods"

    @property
    def title(self) -> str:
        """The name, or the generateName, for people and spans."""
        metadata = self.obj.get("metadata")
        generated = metadata.get("generateName") if isinstance(metadata, Mapping) else None
        return self.name or str(generated or "")


def parse(body: bytes) -> Review:
    """The review in a request's body; raises MalformedReview, which says what is wrong with which part."""
    try:
        envelope = strict_json.loads(body)
    except ValueError as error:
        raise MalformedReview("body", str(error)) from None
    if not isinstance(envelope, Mapping):
        raise MalformedReview("body", "is not a JSON object")
    if envelope.get("apiVersion") != API_VERSION:
        found = _shown(envelope.get("apiVersion"))
        raise MalformedReview(
            "apiVersion", f"is {found}, must be {API_VERSION}: list v1 alone in admissionReviewVersions"
        )
    if envelope.get("kind") != KIND:
        raise MalformedReview("kind", f"is {_shown(envelope.get('kind'))}, must be {KIND}")
    request = envelope.get("request")
    if not isinstance(request, Mapping):
        raise MalformedReview("request", "is missing: send an AdmissionReview with a request")
    kind, resource = _part(request, "kind"), _part(request, "resource")
    return Review(
        uid=_text(request, "uid", required=True),
        operation=_text(request, "operation", required=True),
        group=_text(resource, "group"),
        kind=_text(kind, "kind"),
        resource=_text(resource, "resource"),
        subresource=_text(request, "subResource"),
        namespace=_text(request, "namespace"),
        name=_text(request, "name"),
        dry_run=request.get("dryRun") is True,
        obj=_part(request, "object"),
        old=_part(request, "oldObject"),
    )


def answer(review: Review, verdict: Verdict) -> dict[str, Any]:
    """The AdmissionReview that carries a verdict back; `uid` is echoed, else the call counts as failed."""
    response: dict[str, Any] = {"uid": review.uid, "allowed": verdict.allowed}
    if not verdict.allowed:
        response["status"] = {"code": 403, "reason": "Forbidden", "message": verdict.message}
    if verdict.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(strict_json.dumps(list(verdict.patch))).decode()
    if verdict.warnings:
        response["warnings"] = _fitting(verdict.warnings)
    response["auditAnnotations"] = {"reason": str(verdict.reason)}
    return {"apiVersion": API_VERSION, "kind": KIND, "response": response}


def _fitting(warnings: Sequence[str]) -> list[str]:
    told, room = [], _WARNINGS_LIMIT
    for warning in warnings:
        text = warning if len(warning) <= WARNING_LIMIT else f"{warning[: WARNING_LIMIT - 1]}…"
        room -= len(text.encode())
        if room < 0:
            break
        told.append(text)
    return told


def _part(request: RawObject, field: str) -> RawObject:
    found = request.get(field)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise MalformedReview(f"request.{field}", "is not an object")
    return found


def _text(part: RawObject, field: str, *, required: bool = False) -> str:
    found = part.get(field)
    if isinstance(found, str) and (found or not required):
        return found
    if found is None and not required:
        return ""
    raise MalformedReview(f"request.{field}", "must be a text" + (" that is not empty" if required else ""))


def _shown(found: object) -> str:
    return "missing" if found is None else repr(found)[:80]
