"""Certificates for servers and clients on this machine: throw-away authorities and what they sign."""

import datetime as dt
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from functions.certs import authority

LIFETIME = dt.timedelta(days=30)


@dataclass(frozen=True)
class KeyPair:
    """Paths of a certificate and its private key."""

    certificate: Path
    key: Path


class CertificateAuthority:
    """Signs certificates (P-256, 30 days, PEM files in `folder`); `certificate` is the path of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._pair = authority.authority(dt.datetime.now(dt.UTC), LIFETIME, name)
        self.certificate = folder / f"{name}.crt"
        self.certificate.write_bytes(self._pair.certificate_pem)

    def issue(
        self,
        common_name: str,
        organizations: Iterable[str] = (),
        hosts: Iterable[str] = (),
        folder: Path | None = None,
    ) -> KeyPair:
        """Sign a certificate good for clients and, by its `hosts` (DNS names or IP addresses), for servers.

        The files are in `folder`, or beside the authority's own, and named after `common_name`.
        Kubernetes reads a client's user name from `common_name` and its groups from `organizations`.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject, now = authority.named(common_name, organizations), dt.datetime.now(dt.UTC)
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        builder = authority.issued(self._pair, subject, key.public_key(), now, LIFETIME)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        names = [_general_name(host) for host in hosts]
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        stem = common_name.replace(":", "-")
        folder = folder or self._folder
        pair = KeyPair(folder / f"{stem}.crt", write_key(folder / f"{stem}.key", key))
        pair.certificate.write_bytes(authority.pem(builder.sign(self._pair.key, hashes.SHA256())))
        return pair


def signing_keys(folder: Path, name: str) -> tuple[Path, Path]:
    """A new key pair without certificate: paths of the private and of the public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = folder / f"{name}.pub"
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return write_key(folder / f"{name}.key", key), public


def write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> Path:
    """Write a private key, readable by its owner alone; gives the path back."""
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
