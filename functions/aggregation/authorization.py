"""What the user may do: kube-apiserver's verdict, by a SubjectAccessReview, kept for ten seconds.

kube-apiserver has asked itself before it passed the request on, but extension servers are told not to rely on it. The
times are those of Kubernetes' own delegating servers (apiserver `pkg/server/options/authorization.go`).
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from functions.aggregation.status import Forbidden, Unavailable
from functions.aggregation.user import MASTERS, User
from functions.runtime.kube import Call, Sender
from functions.webapp.errors import ApiError
from functions.webapp.resources import Resource

KEPT_SECONDS = 10.0
KEPT = 4096
REVIEW_SECONDS = 3.0
_REVIEW = Resource("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews")
_OPEN = ("/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz")


@dataclass(frozen=True, slots=True)
class Action:
    """What somebody wants to do: a verb on a resource, or on a path where there is no resource."""

    verb: str
    resource: Resource | None = None
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def is_open(self) -> bool:
        """Whether everybody may who is anybody: discovery, OpenAPI and health, which the API server's parts need."""
        known = any(self.path == root or self.path.startswith(f"{root}/") for root in _OPEN)
        return self.resource is None and self.verb in {"get", "head"} and known

    def attributes(self) -> dict[str, Any]:
        """The part of a SubjectAccessReview's spec that tells it."""
        if self.resource is None:
            return {"nonResourceAttributes": {"path": self.path, "verb": self.verb}}
        where = {"group": self.resource.group, "version": self.resource.version, "resource": self.resource.plural}
        named = {"namespace": self.namespace, "name": self.name, "verb": self.verb}
        return {"resourceAttributes": {key: value for key, value in {**where, **named}.items() if value}}

    def denied_to(self, user: str, reason: str) -> Forbidden:
        """The error, in Kubernetes' own words."""
        who, why = f"User {json.dumps(user, ensure_ascii=False)} cannot {self.verb}", f": {reason}" if reason else ""
        if self.resource is None:
            return Forbidden(f'forbidden: {who} path "{self.path}"{why}')
        plural, group = self.resource.plural, self.resource.group
        scope = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        what = f'{plural}.{group} "{self.name}"' if self.name else f"{plural}.{group}"
        told = f'{what} is forbidden: {who} resource "{plural}" in API group "{group}" {scope}{why}'
        return Forbidden(told, self.resource, self.name)


@dataclass(frozen=True, slots=True)
class _Verdict:
    allowed: bool
    reason: str
    until: float


class Authorizer:
    """Asks kube-apiserver whatever the cache does not know; what cannot be asked is not allowed."""

    def __init__(
        self,
        api: Sender,
        clock: Callable[[], float] = time.monotonic,
        *,
        seconds: float = KEPT_SECONDS,
        limit: int = KEPT,
    ) -> None:
        self._api = api
        self._clock = clock
        self._seconds = seconds
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, _Verdict] = OrderedDict()

    def authorize(self, user: User, action: Action) -> None:
        """Return if the user may; raises Forbidden, and Unavailable where nobody could be asked."""
        if MASTERS in user.groups or action.is_open:
            return
        review = _review(user, action)
        key = hashlib.sha256(json.dumps(review, sort_keys=True).encode()).digest()  # a user may have a thousand groups
        verdict = self._remembered(key) or self._asked(review, key)
        if not verdict.allowed:
            raise action.denied_to(user.name, verdict.reason)

    def _remembered(self, key: bytes) -> _Verdict | None:
        with self._lock:
            found = self._kept.get(key)
            return found if found and self._clock() < found.until else None

    def _asked(self, review: dict[str, Any], key: bytes) -> _Verdict:
        asked = self._clock()
        call = Call("POST", _REVIEW, body=review, step="review")
        try:
            status = self._api.send(call, timeout=REVIEW_SECONDS).get("status")
        except ApiError as error:
            raise Unavailable(f"kube-apiserver could not be asked for access: {error}") from error
        found = status if isinstance(status, dict) else {}
        allowed = found.get("allowed") is True and found.get("denied") is not True
        verdict = _Verdict(allowed, str(found.get("reason") or ""), asked + self._seconds)
        with self._lock:
            self._kept[key] = verdict
            self._kept.move_to_end(key)
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)
        return verdict


def _review(user: User, action: Action) -> dict[str, Any]:
    extra = {key: list(values) for key, values in user.extra.items()}
    spec = {"user": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    asked = {key: value for key, value in spec.items() if value}
    return {"apiVersion": _REVIEW.api_version, "kind": _REVIEW.kind, "spec": {**asked, **action.attributes()}}
