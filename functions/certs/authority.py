"""An authority and the server certificates it signs (P-256, PEM); moments are given, keys are random."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_SKEW = timedelta(minutes=5)
_USES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def load(cls, certificate: bytes, key: bytes) -> Pair:
        """Read PEM; raises ValueError for anything else, and where the two do not belong together."""
        found = x509.load_pem_x509_certificate(certificate)
        private = serialization.load_pem_private_key(key, None)
        if not isinstance(private, ec.EllipticCurvePrivateKey) or private.public_key() != found.public_key():
            raise ValueError("the key is not the certificate's")
        return cls(found, private)

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return pem(self.certificate)

    @property
    def key_pem(self) -> bytes:
        """The key as PEM (PKCS #8, not encrypted)."""
        form = serialization.PrivateFormat.PKCS8
        return self.key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def authority(now: datetime, lifetime: timedelta, name: str = "") -> Pair:
    """A new authority; without a name, its serial number tells it apart from earlier ones."""
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    subject = named(name or f"webapp-ca {serial:x}"[:64])
    uses = {use: use in {"digital_signature", "key_cert_sign", "crl_sign"} for use in _USES}
    unsigned = (
        _builder(subject, subject, key.public_key(), now, lifetime, serial)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**uses), critical=True)
    )
    return Pair(unsigned.sign(key, hashes.SHA256()), key)


def server(issuer: Pair, host: str, now: datetime, lifetime: timedelta) -> Pair:
    """A certificate for one DNS name; it never outlives its authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    lifetime = min(lifetime, issuer.certificate.not_valid_after_utc - now)
    unsigned = (
        issued(issuer, named(host[:64]), key.public_key(), now, lifetime)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    )
    return Pair(unsigned.sign(issuer.key, hashes.SHA256()), key)


def signed_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Whether the issuer's key made the signature."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def hosts(certificate: x509.Certificate) -> list[str]:
    """The DNS names that it is good for."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return names.value.get_values_for_type(x509.DNSName)


def pem(certificate: x509.Certificate) -> bytes:
    """One certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def named(common: str, organizations: Iterable[str] = ()) -> x509.Name:
    """A subject."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def issued(
    issuer: Pair, subject: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    """What every certificate of an authority has; it is still to be signed."""
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key())
    serial = x509.random_serial_number()
    return _builder(subject, issuer.certificate.subject, key, now, lifetime, serial).add_extension(
        signer, critical=False
    )


def _builder(  # noqa: PLR0913, PLR0917 - the fields of a certificate
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime,
    lifetime: timedelta,
    serial: int,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(serial)
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )
