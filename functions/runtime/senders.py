"""Who may send: a bearer token of a ServiceAccount, checked in this process against the cluster's own keys.

Off unless an audience is set: a forged event can only cause a read. The API server publishes issuer and keys to every
ServiceAccount (ClusterRole system:service-account-issuer-discovery); they are read once, and again when a token names a
key that is not known, so the check costs no call. PyJWT is imported only where it is on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from flask import Flask, Response, request

from functions.runtime import web
from functions.runtime.kube import Call, Sender
from functions.runtime.settings import SettingsError, names, read
from functions.webapp.errors import ApiError, SenderNotAllowed, Unauthenticated, WebAppError
from functions.webapp.resources import Resource

if TYPE_CHECKING:
    from jwt import PyJWK

ALGORITHMS = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512"]
"""What an API server signs tokens with; never one of the shared-secret kind."""

LEEWAY_SECONDS = 10
REFRESH_SECONDS = 10.0
"""Tokens with made-up keys make this process ask for the keys no more often than that."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Expected:
    """The audience that tokens must be made for, and the subjects that may send; no subjects means all of them."""

    audience: str
    subjects: frozenset[str] = frozenset()

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> Self | None:
        """None where SENDER_AUDIENCE is not set; raises SettingsError."""
        audience = environ.get("SENDER_AUDIENCE", "").strip()
        nobody: tuple[str, ...] = ()
        subjects = frozenset(read(environ, "SENDER_SUBJECTS", names, nobody))
        if subjects and not audience:
            raise SettingsError("SENDER_SUBJECTS is set and SENDER_AUDIENCE is not: name the audience of the tokens")
        return cls(audience, subjects) if audience else None


@dataclass(frozen=True, slots=True)
class _Path(Resource):
    """A path of the API server that is no resource."""

    def path(self, _namespace: str, _name: str = "", _sub: str = "") -> str:
        return self.plural

    def template(self, *, name: bool = True, sub: str = "") -> str:  # noqa: ARG002 - as of every resource
        return self.plural


DISCOVERY = _Path("", "", "OpenIDConfiguration", "/.well-known/openid-configuration")
KEYS = _Path("", "", "JSONWebKeySet", "/openid/v1/jwks")


class Senders:
    """Checks tokens; thread-safe."""

    def __init__(self, expected: Expected, api: Sender, clock: Callable[[], float] = time.monotonic) -> None:
        import jwt  # noqa: PLC0415 - and with it cryptography: 30 ms of a cold start that most never need

        self._jwt = jwt
        self._expected, self._api, self._clock = expected, api, clock
        self._lock = threading.Lock()
        self._issuer = ""
        self._keys: dict[str, PyJWK] = {}
        self._asked_at = float("-inf")

    def guard(self, app: Flask) -> None:
        """Refuse every POST that no allowed sender has made, before anything looks at its body."""
        app.before_request(self._refusal)

    def check(self, authorization: str | None) -> str:
        """The subject of a good token; raises Unauthenticated, SenderNotAllowed, or ApiError where no keys are had."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Unauthenticated("no bearer token: mount one for this audience at /oidc/token in the sender")
        jwt = self._jwt
        try:
            key = self._key(str(jwt.get_unverified_header(token.strip()).get("kid")))
            claims: dict[str, Any] = jwt.decode(
                token.strip(),
                key,
                algorithms=ALGORITHMS,
                audience=self._expected.audience,
                issuer=self._issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise Unauthenticated(f"the token proves nothing: {error}") from None
        subject = str(claims["sub"])
        if self._expected.subjects and subject not in self._expected.subjects:
            raise SenderNotAllowed(f"{subject[:200]} is not one of SENDER_SUBJECTS")
        return subject

    def _key(self, kid: str) -> PyJWK:
        with self._lock:
            if kid not in self._keys and self._clock() - self._asked_at >= REFRESH_SECONDS:
                self._issuer = str(self._api.send(Call("GET", DISCOVERY))["issuer"])
                found = self._jwt.PyJWKSet.from_dict(self._api.send(Call("GET", KEYS))).keys
                self._keys = {str(key.key_id): key for key in found}
                self._asked_at = self._clock()
            if kid not in self._keys:
                raise self._jwt.InvalidKeyError("it is signed with a key that this cluster does not have")
            return self._keys[kid]

    def _refusal(self) -> Response | None:
        if request.method != "POST":
            return None
        try:
            self.check(request.headers.get("authorization"))
        except WebAppError as error:
            _log.log(
                logging.WARNING if isinstance(error, ApiError) else logging.INFO,
                "sender refused",
                extra={"fields": {"error": error.error_type, "detail": str(error)}},
            )
            answer = web.refusal(error)
            if isinstance(error, Unauthenticated):
                answer.headers["www-authenticate"] = "Bearer"
            return answer
        return None
