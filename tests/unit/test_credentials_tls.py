"""Which authorities of a cluster are good enough: those that Kubernetes' own clients take, and no lesser ones."""

import datetime as dt
import socket
import ssl
import threading

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from functions.runtime.credentials import context

NOW = dt.datetime.now(dt.UTC)


def certificate(subject, key, issuer, signing, *extensions):
    builder = x509.CertificateBuilder().subject_name(named(subject)).issuer_name(named(issuer))
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(NOW - dt.timedelta(hours=1)).not_valid_after(NOW + dt.timedelta(hours=1))
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(signing, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def named(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


@pytest.fixture
def pair(tmp_path):
    """An authority without key usage and key identifiers, as many clusters have it, and a server's certificate."""
    authority, server = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    names = x509.SubjectAlternativeName([x509.DNSName("kubernetes")])
    private = serialization.NoEncryption()
    key = server.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, private)
    (tmp_path / "ca.crt").write_bytes(certificate("ca", authority, "ca", authority, constraints))
    (tmp_path / "server.pem").write_bytes(certificate("server", server, "ca", authority, names) + key)
    return tmp_path


def handshake(pair, client, name):
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(pair / "server.pem")
    near, far = socket.socketpair()

    def serve():
        try:
            served.wrap_socket(far, server_side=True).close()
        except OSError:
            far.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with near, client.wrap_socket(near, server_hostname=name) as connection:
            return connection.version()
    finally:
        thread.join()


def trusting(pair):
    return context({"cert_reqs": "CERT_REQUIRED", "ca_certs": str(pair / "ca.crt")})


def test_authority_without_key_usage_is_taken_as_go_takes_it(pair):
    strict = trusting(pair)
    strict.verify_flags |= ssl.VERIFY_X509_STRICT  # what Python does by itself from 3.13 on
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(pair, strict, "kubernetes")
    assert handshake(pair, trusting(pair), "kubernetes")


def test_other_name_is_still_refused(pair):
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(pair, trusting(pair), "elsewhere")


def test_unknown_authority_is_still_refused(pair):
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(pair, context({"cert_reqs": "CERT_REQUIRED"}), "kubernetes")


def test_insecure_kubeconfig_verifies_nothing(pair):
    assert handshake(pair, context({"cert_reqs": "CERT_NONE"}), "elsewhere")
