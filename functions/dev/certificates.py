"""Certificates for servers and clients on this machine: throw-away authorities and what they sign."""

import datetime as dt
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=30)
CLOCK_SKEW = dt.timedelta(minutes=5)


@dataclass(frozen=True)
class KeyPair:
    """Paths of a certificate and its private key."""

    certificate: Path
    key: Path


class CertificateAuthority:
    """Signs certificates (P-256, 30 days, PEM files in `folder`); `certificate` is the path of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = self._builder(self._subject, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.certificate = folder / f"{name}.crt"
        self._write(self.certificate, builder.add_extension(usage, critical=True))

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
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        builder = self._builder(x509.Name(attributes), key.public_key())
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        names = [_general_name(host) for host in hosts]
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        stem = common_name.replace(":", "-")
        folder = folder or self._folder
        pair = KeyPair(folder / f"{stem}.crt", write_key(folder / f"{stem}.key", key))
        self._write(pair.certificate, builder)
        return pair

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - CLOCK_SKEW)
            .not_valid_after(now + LIFETIME)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )

    def _write(self, path: Path, builder: x509.CertificateBuilder) -> None:
        path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))


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
