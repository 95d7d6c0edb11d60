"""Pure: the TokenReview envelope of authentication.k8s.io v1 and v1beta1, and the three answers there are.

An answer without `status.error` is cached by the API server, whatever it says; one with it is neither cached nor
retried (apiserver `webhook.go` and `token/cache/cached_token_authenticator.go`). So a bad token is told without an
error, and an outage with one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from functions.authn.verdict import Active, Failure
from functions.webapp import strict_json
from functions.webapp.errors import WebAppError

GROUP = "authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
KIND = "TokenReview"
_MAX_AUDIENCES = 64
_MAX_AUDIENCE = 1024


class MalformedReview(WebAppError):
    """The body is no TokenReview; `field` names the part. Never a verdict about a token: that would be cached."""

    error_type = "malformed_review"
    answer = 400

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


@dataclass(frozen=True, slots=True)
class Review:
    """What one TokenReview asks; `version` is the apiVersion that its answer must bear."""

    version: str
    token: str
    audiences: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Review(version={self.version!r})"


def parse(body: bytes) -> Review:
    """Read a request body. Raises MalformedReview, whose message holds nothing of the token."""
    try:
        document = strict_json.loads(body)
    except ValueError:
        raise MalformedReview("body", "is not JSON that every reader understands alike") from None
    if not isinstance(document, dict):
        raise MalformedReview("body", "must be a JSON object")
    version = document.get("apiVersion")
    if version not in VERSIONS:
        raise MalformedReview("apiVersion", f"must be {' or '.join(VERSIONS)}")
    if document.get("kind") != KIND:
        raise MalformedReview("kind", f"must be {KIND}")
    spec = document.get("spec")
    if not isinstance(spec, dict):
        raise MalformedReview("spec", "must be an object with a token")
    token = spec.get("token")
    if not isinstance(token, str) or not token:
        raise MalformedReview("spec.token", "must be a string that is not empty")
    return Review(version, token, _audiences(spec.get("audiences")))


def _audiences(found: Any) -> tuple[str, ...]:
    if found is None:
        return ()
    if not isinstance(found, list) or len(found) > _MAX_AUDIENCES:
        raise MalformedReview("spec.audiences", f"must be a list of at most {_MAX_AUDIENCES} strings")
    if not all(isinstance(each, str) and 0 < len(each) <= _MAX_AUDIENCE for each in found):
        raise MalformedReview("spec.audiences", f"must hold strings of 1 to {_MAX_AUDIENCE} characters")
    return tuple(dict.fromkeys(found))


def accepted(review: Review, active: Active, audiences: tuple[str, ...]) -> dict[str, Any]:
    """The user behind the token; `audiences` are those of the request that the token really has."""
    identity = active.identity
    user: dict[str, Any] = {"username": identity.username}
    if identity.uid:
        user["uid"] = identity.uid
    if identity.groups:
        user["groups"] = list(identity.groups)
    if identity.extra:
        user["extra"] = {key: list(values) for key, values in identity.extra}
    status: dict[str, Any] = {"authenticated": True, "user": user}
    if audiences:
        status["audiences"] = list(audiences)
    return _answer(review, status)


def refused(review: Review) -> dict[str, Any]:
    """A bad token: the API server may cache this."""
    return _answer(review, {"authenticated": False})


def unavailable(review: Review, failure: Failure) -> dict[str, Any]:
    """No verdict: the API server answers 401 and asks us again next time."""
    return _answer(review, {"authenticated": False, "error": failure.fault.text})


def _answer(review: Review, status: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": review.version, "kind": KIND, "status": dict(status)}
