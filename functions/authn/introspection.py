"""OAuth 2.0 Token Introspection (RFC 7662): the profile for Hydra, Keycloak, and most others."""

from __future__ import annotations

from urllib.parse import urlencode

from opentelemetry.context import Context

from functions.authn.credential import Credential
from functions.authn.exchange import Exchange
from functions.authn.provider import Claims
from functions.authn.verdict import Failure, Fault, Inactive

_NOT_FOR_ACCESS = ("refresh", "offline", "id")


class Introspection:
    """Tells a bad token (200, inactive) from a bad credential of ours (401, 403) and an ill provider (the rest)."""

    def __init__(self, exchange: Exchange, credential: Credential) -> None:
        self._exchange = exchange
        self._credential = credential

    def check(self, token: str, wall: float, context: Context) -> Claims | Inactive | Failure:
        """POST the token; its claims if it is an access token that anybody who bears it may use now."""
        headers = {"content-type": "application/x-www-form-urlencoded"}
        form = {"token": token, "token_type_hint": "access_token"}
        self._credential.prove(headers, form)
        answer = self._exchange.ask("POST", "", headers, urlencode(form).encode(), context)
        if isinstance(answer, Failure):
            return answer
        if answer.status in {401, 403}:
            return Failure(Fault.CREDENTIAL)
        if answer.status != 200:
            return Failure(Fault.UNEXPECTED)
        claims = answer.document()
        if claims is None or not isinstance(claims.get("active"), bool):
            return Failure(Fault.MALFORMED)
        if not claims["active"]:
            return Inactive()
        why = _unfit(claims, wall)
        return Inactive(why) if why else claims


def _unfit(claims: Claims, wall: float) -> str:
    """Why an active token lets nobody in: it is past its `exp`, not for access, or bound to a key (`cnf`, RFC 8705)."""
    expires = claims.get("exp")
    if isinstance(expires, int | float) and expires <= wall:
        return "expired"
    uses = [str(claims.get(name) or "").lower().removesuffix("_token") for name in ("token_use", "typ")]
    if any(use in _NOT_FOR_ACCESS for use in uses):
        return "not_an_access_token"
    return "bound_to_a_key" if claims.get("cnf") else ""
