"""What is due: from the certificates that are and the moment now to the certificates that should be.

An authority is replaced with an overlap: while the API server may still meet a certificate of the old one, both are in
the bundle that it trusts. Whoever acts on a plan writes the bundle everywhere before any new server certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509

from functions.certs.authority import Pair, authority, hosts, pem, server, signed_by


@dataclass(frozen=True)
class Terms:
    """How long things live; both kinds are renewed when a third of their life is left."""

    authority_life: timedelta = timedelta(days=5 * 365)
    server_life: timedelta = timedelta(days=90)
    overlap: timedelta = timedelta(days=1)


@dataclass(frozen=True)
class Authorities:
    """The one that signs, and the certificates of earlier ones, newest first."""

    current: Pair
    earlier: tuple[x509.Certificate, ...] = ()

    @classmethod
    def load(cls, bundle: bytes, key: bytes) -> Authorities:
        """Read a PEM bundle whose first certificate is the key's; raises ValueError."""
        first, *earlier = x509.load_pem_x509_certificates(bundle)
        return cls(Pair.load(pem(first), key), tuple(earlier))

    @property
    def bundle(self) -> bytes:
        """Everything the API server should trust, as PEM."""
        return b"".join(pem(each) for each in (self.current.certificate, *self.earlier))


@dataclass(frozen=True)
class Plan:
    """What should be; `renewed` names the hosts whose certificates are new, `notes` say why anything changed."""

    authorities: Authorities
    servers: Mapping[str, Pair]
    renewed: tuple[str, ...]
    notes: tuple[str, ...]


def plan(
    found: Authorities | None,
    servers: Mapping[str, Pair | None],
    now: datetime,
    terms: Terms | None = None,
    *,
    rotate: bool = False,
) -> Plan:
    """The plan for the hosts in `servers`; `rotate` asks for a new authority before its time."""
    terms = terms or Terms()
    authorities, notes = _authorities(found, now, terms, rotate=rotate)
    made: dict[str, Pair] = {}
    renewed: list[str] = []
    for host, pair in servers.items():
        why = _due(host, pair, authorities, now)
        if pair is None or why:
            made[host] = server(authorities.current, host, now, terms.server_life)
            renewed.append(host)
            notes.append(f"{host}: new certificate, {why}")
        else:
            made[host] = pair
    return Plan(authorities, made, tuple(renewed), tuple(notes))


def _authorities(
    found: Authorities | None, now: datetime, terms: Terms, *, rotate: bool
) -> tuple[Authorities, list[str]]:
    if found is None:
        return Authorities(authority(now, terms.authority_life)), ["new authority, there was none"]
    if rotate or _old(found.current.certificate, now):
        why = "as asked for" if rotate else "the old one is near its end"
        earlier = (found.current.certificate, *found.earlier)
        living = tuple(each for each in earlier if each.not_valid_after_utc > now)
        return Authorities(authority(now, terms.authority_life), living), [f"new authority, {why}; both are trusted"]
    replaced_for = now - found.current.certificate.not_valid_before_utc
    if found.earlier and replaced_for > terms.overlap:
        return Authorities(found.current), ["earlier authorities are trusted no more, the overlap is over"]
    return found, []


def _due(host: str, pair: Pair | None, authorities: Authorities, now: datetime) -> str:
    if pair is None:
        return "there was none that could be read"
    if hosts(pair.certificate) != [host]:
        return "the old one is for another name"
    if not signed_by(pair.certificate, authorities.current.certificate):
        return "the old one is of an earlier authority"
    return "the old one is near its end" if _old(pair.certificate, now) else ""


def _old(certificate: x509.Certificate, now: datetime) -> bool:
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return now > certificate.not_valid_after_utc - life / 3
