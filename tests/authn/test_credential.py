"""How the webhook proves itself, and who may ask it."""

from __future__ import annotations

import base64

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from functions.authn.callers import Callers
from functions.authn.credential import ClientSecret, PrivateKeyJwt, SecretFile
from functions.runtime.settings import SettingsError

CERTIFICATE = {"subject": ((("organizationName", "x"),), (("commonName", "kube-apiserver"),))}


@pytest.fixture
def secret(tmp_path):
    (tmp_path / "secret").write_text("s3cret\n")
    return SecretFile(tmp_path / "secret")


def test_a_secret_that_never_was_there_is_no_setting(tmp_path):
    (tmp_path / "empty").write_text(" \n")
    for path in (tmp_path / "empty", tmp_path / "none"):
        with pytest.raises(SettingsError, match="is empty or cannot be read: put the secret there"):
            SecretFile(path)


def test_client_secret_is_form_encoded_before_it_is_base64(tmp_path):
    (tmp_path / "odd").write_text("p:a s%")
    headers: dict[str, str] = {}
    ClientSecret("web:hook", SecretFile(tmp_path / "odd")).prove(headers, {})
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == b"web%3Ahook:p%3Aa+s%25"


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (ec.generate_private_key(ec.SECP256R1()), "ES256"),
        (ec.generate_private_key(ec.SECP384R1()), "ES384"),
        (rsa.generate_private_key(65537, 2048), "RS256"),
    ],
)
def test_assertion_is_signed_short_lived_and_never_the_same_twice(tmp_path, key, algorithm):
    pem = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "key").write_bytes(key.private_bytes(*pem))
    credential = PrivateKeyJwt("webhook", SecretFile(tmp_path / "key"), "k1", "https://idp.example.com")
    forms: list[dict[str, str]] = [{}, {}]
    for form in forms:
        credential.prove({}, form)
    found = [
        jwt.decode(form["client_assertion"], key.public_key(), [algorithm], audience="https://idp.example.com")
        for form in forms
    ]
    assert found[0]["iss"] == found[0]["sub"] == "webhook"
    assert found[0]["exp"] - found[0]["iat"] == 60
    assert found[0]["jti"] != found[1]["jti"]
    assert jwt.get_unverified_header(forms[0]["client_assertion"])["kid"] == "k1"
    assert forms[0]["client_assertion_type"].endswith("jwt-bearer")


def test_key_that_is_none_is_told_without_its_text(secret):
    with pytest.raises(SettingsError) as caught:
        PrivateKeyJwt("webhook", secret, "", "x").assertion(0.0)
    assert "AUTHN_CLIENT_KEY_FILE" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("certificate", "authorization", "admitted"),
    [
        (CERTIFICATE, None, True),
        ({"subject": ((("commonName", "kubelet"),),)}, None, False),
        ({"subject": ((("organizationName", "kube-apiserver"),),)}, None, False),
        ({}, None, False),
        (None, "Bearer s3cret", True),
        (None, "bearer s3cret", True),
        (None, "Bearer s3cre", False),
        (None, "Basic s3cret", False),
        (None, "Bearer ", False),
        (None, "", False),
    ],
)
def test_caller_needs_the_right_name_or_the_right_token(secret, certificate, authorization, admitted):
    assert Callers(("kube-apiserver",), secret).admit(certificate, authorization) is admitted


def test_without_names_and_token_nobody_is_admitted():
    assert not Callers().admit(CERTIFICATE, "Bearer ")
    assert not Callers(("",)).admit({}, None)
