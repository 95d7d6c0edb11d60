"""Pure: the exception tree. Nothing else maps API statuses to errors, or errors to HTTP answers.

WebAppError
├── BadEvent                    the sender must not send this again
│   ├── MalformedEvent          400  not a CloudEvent, or not one of ours
│   ├── EventTooLarge           413
│   ├── UnsupportedMediaType    415  batches, and JSON that names no CloudEvents mode
│   └── UnknownEvent            422  a good CloudEvent of a type that is not ours
├── Unauthenticated         401  no token, or one that proves nothing
├── SenderNotAllowed        403  a good token of somebody who may not send
├── InvalidSpec                 becomes a condition of the WebApp, never an answer
├── TryAgain                    503  the sender keeps the event and sends it again
│   ├── ConflictsExhausted
│   └── DeadlineExceeded
└── ApiError                    what the Kubernetes API answered
    ├── NotFound                404
    ├── Conflict                409  a stale resourceVersion, or a failed precondition
    │   └── AlreadyExists       409
    ├── TestFailed              422  a JSON Patch `test` did not hold
    ├── Expired                 410
    ├── Refused                 400, 403, 422: wrong until somebody changes something
    │   ├── Forbidden · QuotaExceeded · AdmissionDenied · NamespaceTerminating · Rejected
    └── Unavailable             401, 429, 5xx, time-outs, broken connections; answered 503 with Retry-After
        └── Throttled           429

`error_type` is the low-cardinality name that spans, metrics and logs share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar


class WebAppError(Exception):
    """Base of everything this project raises on purpose."""

    error_type: ClassVar[str] = "webapp_error"
    answer: ClassVar[int] = 500


class BadEvent(WebAppError):
    """The request can never succeed as it is."""

    error_type = "bad_event"
    answer = 400


class MalformedEvent(BadEvent):
    """A part of the event is missing or wrong; `field` names it."""

    error_type = "malformed_event"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


class EventTooLarge(BadEvent):
    """The body is longer than the edge accepts."""

    error_type = "event_too_large"
    answer = 413


class UnsupportedMediaType(BadEvent):
    """The Content-Type names no mode that the edge accepts."""

    error_type = "unsupported_media_type"
    answer = 415


class UnknownEvent(BadEvent):
    """A well-formed CloudEvent whose type this function does not handle."""

    error_type = "unknown_event"
    answer = 422


class Unauthenticated(WebAppError):
    """The sender did not prove who it is."""

    error_type = "unauthenticated"
    answer = 401


class SenderNotAllowed(WebAppError):
    """The sender proved who it is, and may not send."""

    error_type = "sender_not_allowed"
    answer = 403


class InvalidSpec(WebAppError):
    """The WebApp asks for something that cannot be; `field` is a path such as `spec.port`."""

    error_type = "invalid_spec"
    answer = 422

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


class TryAgain(WebAppError):
    """The event was understood and could not be finished now."""

    error_type = "try_again"
    answer = 503
    retry_after: float = 1.0


class ConflictsExhausted(TryAgain):
    """Every attempt met a newer resourceVersion."""

    error_type = "conflicts_exhausted"


class DeadlineExceeded(TryAgain):
    """The request's own deadline passed between two API calls."""

    error_type = "deadline_exceeded"


class ApiError(WebAppError):
    """The Kubernetes API did not do what was asked; `code` is the HTTP status, 0 where none came."""

    error_type = "api_error"
    answer = 503

    def __init__(self, message: str, *, code: int = 0, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.retry_after = retry_after


class NotFound(ApiError):
    """404: the object, or the whole resource, is not there."""

    error_type = "not_found"


class Conflict(ApiError):
    """409: somebody wrote in between; read again, decide again."""

    error_type = "conflict"


class AlreadyExists(Conflict):
    """409 on a create: an object of that name is there."""

    error_type = "already_exists"


class TestFailed(ApiError):
    """A JSON Patch `test` did not hold: the object is not what the patch was computed for.

    The API server answers 422 with no name and no causes in its details, unlike a failed validation.
    """

    __test__ = False
    error_type = "test_failed"


class Expired(ApiError):
    """410: the resourceVersion or the continue token is too old to go on from."""

    error_type = "expired"


class Refused(ApiError):
    """The write is wrong until somebody changes the WebApp, a quota, a policy or a role."""

    error_type = "refused"
    condition: ClassVar[str] = "Rejected"


class Forbidden(Refused):
    """403 of the authorizer."""

    error_type = "forbidden"
    condition = "Forbidden"


class QuotaExceeded(Refused):
    """403 of the ResourceQuota admission plugin."""

    error_type = "quota_exceeded"
    condition = "QuotaExceeded"


class AdmissionDenied(Refused):
    """A validating or mutating admission webhook or policy said no."""

    error_type = "admission_denied"
    condition = "AdmissionDenied"


class NamespaceTerminating(Refused):
    """The namespace is going away; nothing can be created in it."""

    error_type = "namespace_terminating"
    condition = "NamespaceTerminating"


class Rejected(Refused):
    """400 or 422 of the API server's own validation."""

    error_type = "rejected"


class Unavailable(ApiError):
    """The API server is away, slow, overloaded or does not know us yet: try again later."""

    error_type = "api_unavailable"


class Throttled(Unavailable):
    """429 of API Priority and Fairness."""

    error_type = "api_throttled"


_QUOTA = re.compile(r"exceeded quota: [^,]+")
_DENIED = re.compile(r"admission webhook|ValidatingAdmissionPolicy|violates PodSecurity")


def from_status(code: int, status: Mapping[str, Any], *, retry_after: float | None = None) -> ApiError:
    """The error for an answer of the API server: its HTTP code and its `Status` body (apimachinery `meta/v1`)."""
    reason = str(status.get("reason") or "")
    message = str(status.get("message") or f"the API server answered {code}")
    details = status.get("details")
    kind: type[ApiError]
    match code:
        case 404:
            kind = NotFound
        case 409:
            kind = AlreadyExists if reason == "AlreadyExists" else Conflict
        case 410:
            kind = Expired
        case 429:
            kind = Throttled
        case 400 | 403 | 422:
            kind, message = _refusal(code, message, details if isinstance(details, Mapping) else {})
        case _:
            kind = Unavailable
    return kind(message, code=code, reason=reason, retry_after=retry_after)


def _refusal(code: int, message: str, details: Mapping[str, Any]) -> tuple[type[ApiError], str]:
    listed = details.get("causes")
    found = listed if isinstance(listed, list) else []
    causes = [cause.get("reason") for cause in found if isinstance(cause, Mapping)]
    if "NamespaceTerminating" in causes:
        return NamespaceTerminating, "the namespace is being deleted"
    if quota := _QUOTA.search(message):  # the rest of the text holds counts that change by themselves
        return QuotaExceeded, quota[0]
    if _DENIED.search(message):
        return AdmissionDenied, message
    if code == 422 and not causes and not details.get("name"):
        return TestFailed, message
    return (Forbidden if code == 403 else Rejected), message
