"""How the webhook proves itself to the provider, out of files that may be replaced at any time."""

from __future__ import annotations

import base64
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote_plus

from functions.runtime.rotation import RotatingFile
from functions.runtime.settings import SettingsError

_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTION_SECONDS = 60
_ALGORITHMS = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


class SecretFile(RotatingFile):
    """A secret that is there from the start; raises SettingsError otherwise."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if not self.read():
            raise SettingsError(f"{path} is empty or cannot be read: put the secret there, in one line")


class Credential(Protocol):
    """Adds what proves the client to a request's headers and form."""

    def prove(self, headers: dict[str, str], form: dict[str, str]) -> None:
        """Change both in place."""
        ...


@dataclass(frozen=True)
class Nothing:
    """For endpoints that are guarded by the network, such as an admin port on loopback."""

    def prove(self, headers: dict[str, str], form: dict[str, str]) -> None:
        """Leave both as they are."""


@dataclass(frozen=True)
class ClientSecret:
    """HTTP Basic, id and secret form-encoded first (RFC 6749 section 2.3.1)."""

    client: str
    secret: SecretFile

    def prove(self, headers: dict[str, str], form: dict[str, str]) -> None:  # noqa: ARG002 - the protocol's
        """Set `Authorization`."""
        pair = f"{quote_plus(self.client)}:{quote_plus(self.secret.read())}"
        headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()


@dataclass(frozen=True)
class PrivateKeyJwt:
    """A signed assertion of one minute (RFC 7523 section 2.2, OpenID Connect Core section 9, private_key_jwt)."""

    client: str
    key: SecretFile
    key_id: str
    audience: str

    def prove(self, headers: dict[str, str], form: dict[str, str]) -> None:  # noqa: ARG002 - the protocol's
        """Add the assertion to the form."""
        form["client_assertion_type"] = _ASSERTION_TYPE
        form["client_assertion"] = self.assertion(time.time())

    def assertion(self, wall: float) -> str:
        """The assertion as it would be made at `wall`. Raises SettingsError for a key that cannot sign."""
        import jwt  # noqa: PLC0415 - with cryptography 10 MiB that other credentials must not pay
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

        try:
            key = load_pem_private_key(self.key.read().encode(), None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise SettingsError("AUTHN_CLIENT_KEY_FILE: is no PEM private key without a password") from None
        if isinstance(key, EllipticCurvePrivateKey) and key.curve.name in _ALGORITHMS:
            algorithm = _ALGORITHMS[key.curve.name]
        elif isinstance(key, RSAPrivateKey):
            algorithm = "RS256"
        else:
            raise SettingsError("AUTHN_CLIENT_KEY_FILE: use an RSA key, or an EC key on P-256, P-384 or P-521")
        claims = {
            "iss": self.client,
            "sub": self.client,
            "aud": self.audience,
            "jti": secrets.token_urlsafe(16),
            "iat": int(wall),
            "exp": int(wall) + _ASSERTION_SECONDS,
        }
        return jwt.encode(claims, key, algorithm, headers={"kid": self.key_id} if self.key_id else None)
