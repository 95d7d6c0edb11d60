"""An authority that signs through an intermediate, as some organisations' do."""

import datetime as dt

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from functions.dev.certificates import KeyPair, write_key

_PEM = serialization.Encoding.PEM


def chain(folder, common_name):
    """PEM of a root, PEM of its intermediate, and a pair whose file holds the leaf and the intermediate."""
    root_key, root = _signed("root", None, None, ca=1)
    middle_key, middle = _signed("intermediate", root, root_key, ca=0)
    key, leaf = _signed(common_name, middle, middle_key)
    pair = KeyPair(folder / "chained.crt", write_key(folder / "chained.key", key))
    pair.certificate.write_bytes(leaf.public_bytes(_PEM) + middle.public_bytes(_PEM))
    return root.public_bytes(_PEM).decode(), middle.public_bytes(_PEM).decode(), pair


def _signed(name, issuer, issuer_key, ca=None):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=ca is not None, path_length=ca), critical=True)
    )
    return key, builder.sign(issuer_key or key, hashes.SHA256())
