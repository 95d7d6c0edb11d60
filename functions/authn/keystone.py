"""OpenStack Keystone (Identity API v3): validate a user's token with a service token of our own.

Two tokens go into one request, and Keystone tells by the status which is bad: 404 the user's, 401 ours (API reference,
"Validate and show information for token"). Our own comes from an application credential.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

from opentelemetry.context import Context

from functions.authn.credential import SecretFile
from functions.authn.exchange import Exchange
from functions.authn.provider import Claims
from functions.authn.verdict import Failure, Fault, Inactive
from functions.webapp.timestamp import Timestamp

_PATH = "/v3/auth/tokens"
_RENEW_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class _ServiceToken:
    text: str
    renew_at: float


class Keystone:
    """Logs in at most once per question, and one thread at a time; a refused login trips the breaker like any other.

    That bounds re-logins by the breaker's own pace: after a 401 the token is forgotten, the breaker opens, and the next
    probe logs in anew.
    """

    def __init__(self, exchange: Exchange, credential_id: str, secret: SecretFile) -> None:
        self._exchange = exchange
        self._credential_id = credential_id
        self._secret = secret
        self._lock = threading.Lock()
        self._ours: _ServiceToken | None = None

    def check(self, token: str, wall: float, context: Context) -> Claims | Inactive | Failure:
        """GET the user's token; its claims are `sub`, `name`, `domain`, `project`, `groups` (role names), `exp`."""
        ours = self._service_token(wall, context)
        if isinstance(ours, Failure):
            return ours
        headers = {"x-auth-token": ours.text, "x-subject-token": token}
        answer = self._exchange.ask("GET", f"{_PATH}?nocatalog", headers, None, context)
        if isinstance(answer, Failure):
            return answer
        match answer.status:
            case 200:
                return _judged((answer.document() or {}).get("token"), wall)
            case 404:
                return Inactive()
            case 401 | 403:
                with self._lock:
                    self._ours = None if self._ours is ours else self._ours
                return Failure(Fault.CREDENTIAL)
        return Failure(Fault.UNEXPECTED)

    def _service_token(self, wall: float, context: Context) -> _ServiceToken | Failure:
        with self._lock:
            if self._ours is None or wall >= self._ours.renew_at:
                found = self._login(wall, context)
                if isinstance(found, Failure):
                    return found
                self._ours = found
            return self._ours

    def _login(self, wall: float, context: Context) -> _ServiceToken | Failure:
        credential = {"id": self._credential_id, "secret": self._secret.read()}
        identity = {"methods": ["application_credential"], "application_credential": credential}
        body = json.dumps({"auth": {"identity": identity}}).encode()
        answer = self._exchange.ask("POST", _PATH, {"content-type": "application/json"}, body, context)
        if isinstance(answer, Failure):
            return answer
        if answer.status in {401, 403}:
            return Failure(Fault.CREDENTIAL)
        if answer.status != 201:
            return Failure(Fault.UNEXPECTED)
        text = answer.headers.get("x-subject-token", "")
        expires = _moment(_of((answer.document() or {}).get("token"), "expires_at"))
        if not text or expires is None:
            return Failure(Fault.MALFORMED)
        return _ServiceToken(text, wall + (expires - wall) * _RENEW_SHARE)


def _judged(token: Any, wall: float) -> Claims | Inactive | Failure:
    """What Keystone says of a token, by the names that introspection uses."""
    if not isinstance(token, dict) or not isinstance(token.get("user"), dict):
        return Failure(Fault.MALFORMED)
    expires = _moment(token.get("expires_at"))
    if expires is None:
        return Failure(Fault.MALFORMED)
    if expires <= wall:
        return Inactive("expired")
    user, project, roles = token["user"], token.get("project"), token.get("roles")
    return {
        "sub": user.get("id"),
        "name": user.get("name"),
        "domain": _of(user.get("domain"), "id"),
        "project": _of(project, "id"),
        "groups": [_of(role, "name") for role in roles] if isinstance(roles, list) else [],
        "exp": expires,
    }


def _of(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _moment(text: Any) -> float | None:
    try:
        return Timestamp.parse(text).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None
