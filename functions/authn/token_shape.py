"""Pure: tokens that no identity provider need be asked about.

The API server goes on to the webhook after its own authenticators failed, so every expired ServiceAccount token in the
cluster arrives here (cloud-provider-openstack issue 1318 counts 60 000 in five minutes).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection
from math import isfinite
from typing import Any

from functions.authn.verdict import Inactive
from functions.webapp import strict_json

LEEWAY_SECONDS = 60.0
"""How far two clocks may differ before an `exp` counts as past."""

_B64TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)


def refuse(token: str, issuers: Collection[str], wall: float, *, longest: int) -> Inactive | None:
    """Why the token is no good as it is, or None where somebody has to be asked.

    Refused are tokens that are no `b64token` (RFC 6750 section 2.1) or longer than `longest`, JWTs (RFC 7519) of one of
    the cluster's own `issuers`, and JWTs that expired before `wall`. A JWT's claims are not verified here: all that
    they can do is to get the token refused.
    """
    if len(token) > longest:
        return Inactive("too_long")
    if not _B64TOKEN.fullmatch(token):
        return Inactive("not_a_token")
    claims = _claims(token)
    if claims is None:
        return None
    if claims.get("iss") in issuers:
        return Inactive("cluster_token")
    expires = claims.get("exp")
    if isinstance(expires, int | float) and isfinite(expires) and expires + LEEWAY_SECONDS < wall:
        return Inactive("expired")
    return None


def _claims(token: str) -> dict[str, Any] | None:
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = strict_json.loads(base64.b64decode(parts[1] + "=" * (-len(parts[1]) % 4), b"-_", validate=True))
    except (binascii.Error, ValueError):
        return None
    return claims if isinstance(claims, dict) and isinstance(claims.get("iss", ""), str) else None
