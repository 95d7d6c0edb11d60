"""Who asks: the user whom kube-apiserver names, on a connection that proves to be kube-apiserver's.

Its certificate must chain to the front proxy's authorities and bear an allowed name. That is judged anew with each
request, as in Kubernetes (apiserver `pkg/authentication/request/x509`): authorities change while connections are open.
There is no other way in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from functions.aggregation.fields import fields
from functions.aggregation.requestheader import RequestHeader
from functions.aggregation.status import Unauthorized
from functions.aggregation.user import User
from functions.runtime.tls import client_chain

_KEPT = 64


class FrontProxy:
    """Authenticates requests on the terms that hold when they come."""

    def __init__(
        self, terms: Callable[[], RequestHeader], clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._terms = terms
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[RequestHeader, tuple[bytes, ...]], _Certificate] = {}

    def authenticate(self, environ: Mapping[str, Any]) -> User:
        """The user of one WSGI request; raises Unauthorized."""
        terms = self._terms()
        chain = client_chain(environ.get("gunicorn.socket"))
        if not chain:
            raise Unauthorized("only kube-apiserver is answered here, and it shows a client certificate")
        certificate = self._judged(terms, tuple(chain))
        if not certificate.begins <= self._clock() <= certificate.ends:
            raise Unauthorized("the client certificate is not valid now")
        if not certificate.trusted:
            raise Unauthorized("the client certificate is not of the front proxy's authority")
        if terms.allowed and certificate.common_name not in terms.allowed:
            raise Unauthorized("the client certificate's common name is not one of the front proxy's")
        user = terms.user(fields(environ))
        if user is None:
            raise Unauthorized("the front proxy names no user")
        return user

    def _judged(self, terms: RequestHeader, chain: tuple[bytes, ...]) -> _Certificate:
        with self._lock:
            if (terms, chain) not in self._known:
                if len(self._known) >= _KEPT:
                    self._known.clear()
                self._known[terms, chain] = _Certificate.judge(terms, chain)
            return self._known[terms, chain]


@dataclass(frozen=True)
class _Certificate:
    common_name: str
    begins: datetime
    ends: datetime
    trusted: bool

    @classmethod
    def judge(cls, terms: RequestHeader, chain: tuple[bytes, ...]) -> Self:
        """The handshake verified the chain, but maybe by an authority that is not the front proxy's, or is no more."""
        found = x509.load_der_x509_certificate(chain[0])
        names = [str(each.value) for each in found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        name = names[-1] if names else ""  # the last one counts, as in Go's crypto/x509
        authorities = terms.certificates()
        trusted = any(each.public_bytes(Encoding.DER) in chain[1:] or _issued(found, each) for each in authorities)
        return cls(name, found.not_valid_before_utc, found.not_valid_after_utc, trusted)


def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
