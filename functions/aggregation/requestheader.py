"""Pure: how the front proxy names users, and by which authorities it proves to be the front proxy.

kube-apiserver publishes both in the ConfigMap kube-system/extension-apiserver-authentication; names, values and their
reading are those of Kubernetes (apiserver `pkg/authentication/request/headerrequest`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import unquote

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from functions.aggregation.user import User

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
_ANONYMOUS, _AUTHENTICATED, _UNAUTHENTICATED = "system:anonymous", "system:authenticated", "system:unauthenticated"
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")

Fields = Sequence[tuple[str, str]]
"""A request's header fields as they came: in order, repeated ones apart, values as WSGI has them (ISO 8859-1)."""


class RequestHeaderError(Exception):
    """Nobody can be trusted on these terms; the message says what to change."""


@dataclass(frozen=True)
class RequestHeader:
    """Header names are in lower case; no `allowed` common names means that all are.

    `authorities` are the front proxy's, `clients` those of all other client certificates: PEM bundles of nothing but
    certificates. An empty list of names is a header that is not looked at.
    """

    authorities: bytes
    clients: bytes
    allowed: frozenset[str]
    names: tuple[str, ...]
    groups: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """Read the ConfigMap; raises RequestHeaderError, which names the flags of kube-apiserver that are missing."""
        data = config.get("data") or {}
        authorities = _bundle(data, "requestheader-client-ca-file")
        clients = _bundle(data, "client-ca-file")
        found = cls(
            _pem(authorities),
            _pem(clients),
            frozenset(_list(data, "requestheader-allowed-names")),
            _lower(data, "requestheader-username-headers"),
            _lower(data, "requestheader-group-headers"),
            _lower(data, "requestheader-extra-headers-prefix"),
            _lower(data, "requestheader-uid-headers"),
        )
        needed = {
            "requestheader-client-ca-file": found.authorities,
            "requestheader-username-headers": found.names,
            "requestheader-group-headers": found.groups,
            "requestheader-extra-headers-prefix": found.extras,
        }
        if missing := [f"--{flag}" for flag, value in needed.items() if not value]:
            raise RequestHeaderError(
                f"ConfigMap {NAMESPACE}/{NAME} does not say how the front proxy is recognised: start kube-apiserver "
                f"with {', '.join(missing)}"
            )
        if not found.allowed and _keys(authorities) & _keys(clients):
            raise RequestHeaderError(
                f"ConfigMap {NAMESPACE}/{NAME} would let every holder of a client certificate speak for anybody: "
                "--requestheader-client-ca-file shares an authority with --client-ca-file, and "
                "--requestheader-allowed-names is empty; give the front proxy an authority of its own"
            )
        return found

    def certificates(self) -> list[x509.Certificate]:
        """The front proxy's authorities one by one."""
        return x509.load_pem_x509_certificates(self.authorities)

    def user(self, fields: Fields) -> User | None:
        """Who the front proxy says asks; None where it names nobody."""
        found = [(name.lower(), value.encode("latin-1").decode(errors="replace")) for name, value in fields]
        if not (name := _first(found, self.names)):
            return None
        groups = [value for header in self.groups for field, value in found if field == header and value]
        if name != _ANONYMOUS and not {_AUTHENTICATED, _UNAUTHENTICATED} & set(groups):
            groups.append(_AUTHENTICATED)  # as every server of Kubernetes does for whoever was authenticated
        extra: dict[str, tuple[str, ...]] = {}
        for prefix in self.extras:
            for field, value in found:
                if field.startswith(prefix):
                    key = _unescaped(field[len(prefix) :])
                    extra[key] = (*extra.get(key, ()), value)
        return User(name, tuple(groups), _first(found, self.uids), extra)


def _first(fields: Fields, names: Sequence[str]) -> str:
    """The first value of the first of the names that has one; like Go's Header.Get it looks at no second value."""
    for name in names:
        value = next((value for field, value in fields if field == name), "").strip()
        if value:
            return value
    return ""


def _unescaped(key: str) -> str:
    """A key without its percent-encoding; one that is not well encoded stays as it is (Go `url.PathUnescape`)."""
    well = all(len(part) >= 2 and set(part[:2]) <= _HEXADECIMAL for part in key.split("%")[1:])
    return unquote(key, errors="replace") if well else key


def _lower(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(name.lower() for name in _list(data, key))


def _list(data: Mapping[str, Any], key: str) -> list[str]:
    """One value of the ConfigMap: a JSON list of texts, or nothing."""
    text = data.get(key)
    if not text:
        return []
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if found is None and text.strip() == "null":
        return []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise RequestHeaderError(f"ConfigMap {NAMESPACE}/{NAME}: {key} is {text!r}, which is no JSON list of names")
    return [each for each in found if each]


def _bundle(data: Mapping[str, Any], key: str) -> list[x509.Certificate]:
    text = str(data.get(key) or "")
    try:
        return x509.load_pem_x509_certificates(text.encode()) if text.strip() else []
    except ValueError as error:
        raise RequestHeaderError(
            f"ConfigMap {NAMESPACE}/{NAME}: {key} is no PEM bundle ({error}): give --{key} of kube-apiserver one"
        ) from error


def _pem(certificates: Sequence[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)


def _keys(certificates: Sequence[x509.Certificate]) -> set[bytes]:
    der, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return {each.public_key().public_bytes(der, form) for each in certificates}
