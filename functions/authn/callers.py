"""Who may ask: whoever else could, would have an oracle for stolen tokens."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from functions.authn.credential import SecretFile


@dataclass(frozen=True)
class Callers:
    """A caller shows a client certificate with one of `names` as common name, or the bearer `token`."""

    names: tuple[str, ...] = ()
    token: SecretFile | None = None

    def admit(self, certificate: Mapping[str, Any] | None, authorization: str | None) -> bool:
        """`certificate` is what `ssl.SSLSocket.getpeercert` gave, verified already; comparisons take constant time."""
        common_name = _common_name(certificate or {})
        by_certificate = [_same(common_name, name) for name in self.names]
        scheme, _, shown = (authorization or "").partition(" ")
        by_token = self.token is not None and scheme.lower() == "bearer" and _same(shown.strip(), self.token.read())
        return by_token or (bool(common_name) and any(by_certificate))


def _common_name(certificate: Mapping[str, Any]) -> str:
    pairs = [pair for relative in certificate.get("subject", ()) for pair in relative]
    return next((str(value) for name, value in pairs if name == "commonName"), "")


def _same(one: str, other: str) -> bool:
    """Hashed first, so that not even the lengths are told."""
    return hmac.compare_digest(hashlib.sha256(one.encode()).digest(), hashlib.sha256(other.encode()).digest())
