"""Who asks: the user whom kube-apiserver names, on a connection that proves to be kube-apiserver's.

Its certificate must chain to the front proxy's authorities and bear an allowed name; the handshake sees to the chain.
Authorities may change while a connection is open, so what was verified by others than today's is verified again: by its
issuer alone, since of an intermediate that came with it nothing is left. There is no other way in.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from functions.aggregation.fields import fields
from functions.aggregation.requestheader import RequestHeader
from functions.aggregation.status import Unauthorized
from functions.aggregation.user import User
from functions.runtime.tls import ServerContext

_KEPT = 64


class FrontProxy:
    """Authenticates requests on the terms that hold when they come."""

    def __init__(
        self, terms: Callable[[], RequestHeader], clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._terms = terms
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[bytes, _Certificate] = {}

    def authenticate(self, environ: Mapping[str, Any]) -> User:
        """The user of one WSGI request; raises Unauthorized."""
        terms = self._terms()
        connection = environ.get("gunicorn.socket")
        der = connection.getpeercert(binary_form=True) if isinstance(connection, ssl.SSLSocket) else None
        if not isinstance(connection, ssl.SSLSocket) or not der:
            raise Unauthorized("only kube-apiserver is answered here, and it shows a client certificate")
        certificate = self._read(der)
        if not certificate.begins <= self._clock() <= certificate.ends:
            raise Unauthorized("the client certificate is not valid now")
        context = connection.context
        today = isinstance(context, ServerContext) and context.client_authorities == terms.authorities
        if not today and not certificate.issued_by(terms.certificates()):
            raise Unauthorized("the client certificate is not of the front proxy's authority")
        if terms.allowed and certificate.common_name not in terms.allowed:
            raise Unauthorized("the client certificate's common name is not one of the front proxy's")
        user = terms.user(fields(environ))
        if user is None:
            raise Unauthorized("the front proxy names no user")
        return user

    def _read(self, der: bytes) -> _Certificate:
        with self._lock:
            if der not in self._known:
                if len(self._known) >= _KEPT:
                    self._known.clear()
                self._known[der] = _Certificate.read(der)
            return self._known[der]


@dataclass(frozen=True)
class _Certificate:
    found: x509.Certificate
    common_name: str
    begins: datetime
    ends: datetime

    @classmethod
    def read(cls, der: bytes) -> _Certificate:
        found = x509.load_der_x509_certificate(der)
        names = [str(each.value) for each in found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        name = names[-1] if names else ""  # the last one counts, as in Go's crypto/x509
        return cls(found, name, found.not_valid_before_utc, found.not_valid_after_utc)

    def issued_by(self, authorities: list[x509.Certificate]) -> bool:
        """Whether one of them signed it."""
        return any(self._signed_by(authority) for authority in authorities)

    def _signed_by(self, authority: x509.Certificate) -> bool:
        try:
            self.found.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True
