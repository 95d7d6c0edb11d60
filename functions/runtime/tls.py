"""How a server that kube-apiserver calls is served: ports, threads, and a certificate that follows its files."""

from __future__ import annotations

import logging
import ssl
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from functions.runtime.listening import Address
from functions.runtime.rotation import identity
from functions.runtime.settings import SettingsError, integer, read, seconds

PATIENCE_SECONDS = 5.0
"""How long a thread waits for the next bytes of a handshake or a request that has begun."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Profile:
    """Where and how one server listens; the same variables for every one of them.

    `client_ca` is a PEM file of authorities: clients may then present a certificate, which is verified; who must
    have one is the app's decision. `client_authorities` gives them instead, as PEM, for a server that learns them while
    it runs. `drain_seconds` is how long the server goes on answering after SIGTERM.
    """

    at: Address
    health: Address
    certificate: Path = Path("/etc/webapp/tls/tls.crt")
    key: Path = Path("/etc/webapp/tls/tls.key")
    client_ca: Path | None = None
    threads: int = 16
    drain_seconds: float = 30.0
    client_authorities: Callable[[], bytes] = lambda: b""

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> Self:
        """Raises SettingsError, also for certificate files that cannot be used."""
        found = cls(
            at=Address.load(environ, 8443),
            health=Address.load(environ, 8081, variable="HEALTH_PORT"),
            certificate=read(environ, "TLS_CERT_FILE", Path, cls.certificate),
            key=read(environ, "TLS_KEY_FILE", Path, cls.key),
            client_ca=read(environ, "TLS_CLIENT_CA_FILE", Path, cls.client_ca),
            threads=read(environ, "SERVER_THREADS", integer(1, 256), cls.threads),
            drain_seconds=read(environ, "DRAIN_SECONDS", seconds(0, 600), cls.drain_seconds),
        )
        try:
            Certificate(found).context()
        except OSError as error:  # ssl.SSLError is one
            files = " and ".join(str(path) for path in found.files)
            cure = (
                "name a PEM certificate and its own key with TLS_CERT_FILE and TLS_KEY_FILE (`webapp certs` makes them)"
            )
            raise SettingsError(f"{files}: {error}; {cure}") from error
        return found

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the TLS context is made of."""
        return tuple(path for path in (self.certificate, self.key, self.client_ca) if path is not None)


class Certificate:
    """The TLS context for new connections; files that were replaced on disk are used from the next connection on.

    A replacement that cannot be loaded, such as a certificate whose key has not been written yet, changes nothing: the
    last good pair goes on serving and a warning says so.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._lock = threading.Lock()
        self._seen: tuple[object, ...] = ()
        self._context: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext:
        """The context now; raises OSError where no good pair was ever there."""
        with self._lock:
            try:
                authorities = self._profile.client_authorities()
                seen = (authorities, *(identity(path) for path in self._profile.files))
                if seen != self._seen:
                    self._context = self._load(authorities)
                    self._seen = seen
            except OSError as error:
                if self._context is None:
                    raise
                _log.warning("the new certificate cannot be used, the last good one stays", exc_info=error)
            if self._context is None:
                raise AssertionError("loaded or raised")
            return self._context

    def _load(self, authorities: bytes) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sslsocket_class = PatientSocket
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self._profile.certificate, self._profile.key)
        if self._profile.client_ca is not None:
            context.load_verify_locations(self._profile.client_ca)
            context.verify_mode = ssl.CERT_OPTIONAL
        if authorities:
            context.load_verify_locations(cadata=authorities.decode("ascii"))
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # an intermediate may be an authority, as for Go
            context.verify_mode = ssl.CERT_OPTIONAL
        return context


class PatientSocket(ssl.SSLSocket):
    """A TLS connection whose blocking calls are bounded, so that a stalled peer cannot keep a thread."""

    def setblocking(self, flag: bool) -> None:  # noqa: FBT001 - the signature of socket.socket
        """Blocking means `PATIENCE_SECONDS` at most."""
        self.settimeout(PATIENCE_SECONDS if flag else 0)

    def do_handshake(self, block: bool = False) -> None:  # noqa: FBT001, FBT002 - the signature of ssl.SSLSocket
        """The handshake, each of its reads bounded."""
        self.settimeout(PATIENCE_SECONDS)
        super().do_handshake(block)


def client_chain(connection: object) -> list[bytes]:
    """The client's certificate as DER, and those that it was verified by; [] without a certificate.

    Before Python 3.13 nothing is left of the others.
    """
    if not isinstance(connection, ssl.SSLSocket) or not (certificate := connection.getpeercert(binary_form=True)):
        return []
    if sys.version_info >= (3, 13):
        return connection.get_verified_chain()
    return [certificate]
