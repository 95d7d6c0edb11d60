"""Pure: the errors of an aggregated API, each a Kubernetes Status (apimachinery `pkg/api/errors`).

None but TooManyRequests says when to come again: clients repeat a request that was told, also those that a person waits
for.
"""

from __future__ import annotations

from typing import Any, ClassVar

from functions.webapp.errors import WebAppError
from functions.webapp.resources import Resource

JSON = "application/json"


class StatusError(WebAppError):
    """What a caller is told instead of what it asked for; `resource` and `name` are what it asked about."""

    error_type = "status"
    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"
    retry_after: ClassVar[int] = 0

    def __init__(self, message: str, resource: Resource | None = None, name: str = "") -> None:
        super().__init__(message)
        self.resource = resource
        self.name = name

    def document(self) -> dict[str, Any]:
        """The Status object."""
        about = {"group": self.resource.group, "kind": self.resource.plural} if self.resource else {}
        details = {"name": self.name, **about, "retryAfterSeconds": self.retry_after, "causes": self.causes()}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            "reason": self.reason,
            "details": {key: value for key, value in details.items() if value},
            "code": self.code,
        }

    def causes(self) -> list[dict[str, str]]:
        """What a program may want to know beyond the reason."""
        return []


class BadRequest(StatusError):
    """A parameter is wrong; the message names it."""

    error_type, code, reason = "bad_request", 400, "BadRequest"


class Unauthorized(StatusError):
    """The caller did not prove who it is."""

    error_type, code, reason = "unauthorized", 401, "Unauthorized"


class Forbidden(StatusError):
    """The caller may not do this."""

    error_type, code, reason = "forbidden", 403, "Forbidden"


class NotFound(StatusError):
    """There is no such object, or nothing is served under this path."""

    error_type, code, reason = "not_found", 404, "NotFound"


class MethodNotAllowed(StatusError):
    """The resource is read-only."""

    error_type, code, reason = "method_not_allowed", 405, "MethodNotAllowed"


class NotAcceptable(StatusError):
    """None of the forms that the caller accepts is served."""

    error_type, code, reason = "not_acceptable", 406, "NotAcceptable"


class Expired(StatusError):
    """The version asked for is no longer kept: the client has to list again."""

    error_type, code, reason = "expired", 410, "Expired"


class TooManyRequests(StatusError):
    """As many watches run as are allowed."""

    error_type, code, reason, retry_after = "too_many_requests", 429, "TooManyRequests", 5


class Unavailable(StatusError):
    """What holds the objects, or decides about access to them, cannot be reached."""

    error_type, code, reason = "unavailable", 503, "ServiceUnavailable"


class TooLargeResourceVersion(StatusError):
    """The version asked for is still to come; a client that was given it by a lost database lists again."""

    error_type, code, reason = "too_large_resource_version", 504, "Timeout"

    def causes(self) -> list[dict[str, str]]:
        """What client-go recognises it by (`IsTooLargeResourceVersion`)."""
        return [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]


def missing(resource: Resource, name: str) -> NotFound:
    """The error for an object that is not there, in the words that kubectl's users know."""
    return NotFound(f'{resource.plural}.{resource.group} "{name}" not found', resource, name)
