"""Where certificates live in the cluster: Secrets, and the `caBundle` of whatever refers to our Services.

The authority's key has a Secret of its own, which no Pod mounts. Every write is for the version that was read.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from functions.certs.authority import Pair
from functions.certs.rotation import Authorities
from functions.runtime.kube import Call, Sender, create, put, read
from functions.webapp.errors import Conflict, NotFound, WebAppError
from functions.webapp.resources import MANAGER, RawObject, Resource, meta_text

AUTHORITY = "webapp-ca"
SECRET = Resource("", "v1", "Secret", "secrets")
_REGISTRATION = ("admissionregistration.k8s.io", "v1")
WEBHOOKS = (
    Resource(*_REGISTRATION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    Resource(*_REGISTRATION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
)
API_SERVICE = Resource("apiregistration.k8s.io", "v1", "APIService", "apiservices")
_ATTEMPTS = 5


class UnreadableAuthority(WebAppError):
    """The Secret of the authority holds something else; nothing is written over it."""

    error_type = "unreadable_authority"


class Store:
    """Certificates of one namespace."""

    def __init__(self, api: Sender, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    def authorities(self) -> Authorities | None:
        """What signs now; None where there is no Secret. Raises UnreadableAuthority."""
        found = self._secret(AUTHORITY)
        if found is None:
            return None
        data = _data(found)
        try:
            return Authorities.load(data["ca.crt"], data["ca.key"])
        except (KeyError, ValueError, TypeError) as error:
            raise UnreadableAuthority(
                f"Secret {self._namespace}/{AUTHORITY} is no authority of ours ({error}): restore ca.crt and ca.key,"
                " or delete it and have all made anew, which fails calls until every server has its new certificate"
            ) from error

    def server(self, service: str) -> Pair | None:
        """The certificate of a Service; None where there is none that can be read."""
        data = _data(self._secret(f"{service}-tls"))
        try:
            return Pair.load(data["tls.crt"], data["tls.key"])
        except (KeyError, ValueError):
            return None

    def keep_authorities(self, authorities: Authorities) -> bool:
        """Write the authority's Secret where it differs."""
        data = {"ca.crt": authorities.bundle, "ca.key": authorities.current.key_pem}
        return self._write(AUTHORITY, "Opaque", data)

    def keep_server(self, service: str, pair: Pair, bundle: bytes) -> bool:
        """Write a Service's Secret where it differs; `ca.crt` in it is for clients with files, such as a kubeconfig."""
        data = {"tls.crt": pair.certificate_pem, "tls.key": pair.key_pem, "ca.crt": bundle}
        return self._write(f"{service}-tls", "kubernetes.io/tls", data)

    def trust(self, services: Iterable[str], bundle: bytes) -> list[str]:
        """Write the bundle into every reference to one of the Services where it differs; gives what was written."""
        wanted, text = set(services), base64.b64encode(bundle).decode()
        return [
            f"{resource.kind} {meta_text(found, 'name')}"
            for resource in (*WEBHOOKS, API_SERVICE)
            for found in self._api.send(Call("GET", resource))["items"]
            if self._trusting(resource, found, wanted, text)
        ]

    def _trusting(self, resource: Resource, found: RawObject, wanted: Collection[str], text: str) -> bool:
        """Whether anything had to be written; what changed meanwhile, as by its status, is read and judged again."""
        for attempt in range(1, _ATTEMPTS + 1):
            patch = [
                {"op": "add", "path": f"{path}/caBundle", "value": text}
                for path, client in _clients(resource, found)
                if self._ours(client.get("service"), wanted) and client.get("caBundle") != text
            ]
            if not patch:
                return False
            try:
                self._patch(resource, found, patch)
            except Conflict:
                if attempt == _ATTEMPTS:
                    raise
                found = self._api.send(Call("GET", resource, name=meta_text(found, "name")))
            else:
                return True
        raise AssertionError("written or raised")

    def _ours(self, service: object, wanted: Collection[str]) -> bool:
        return (
            isinstance(service, Mapping)
            and service.get("namespace") == self._namespace
            and service.get("name") in wanted
        )

    def _patch(self, resource: Resource, found: RawObject, patch: list[dict[str, Any]]) -> None:
        version = {"op": "replace", "path": "/metadata/resourceVersion", "value": meta_text(found, "resourceVersion")}
        body = [version, *patch]
        self._api.send(
            Call(
                "PATCH",
                resource,
                name=meta_text(found, "name"),
                params=(("fieldManager", MANAGER),),
                body=body,
                content_type="application/json-patch+json",
                step="write",
            )
        )

    def _secret(self, name: str) -> RawObject | None:
        try:
            return self._api.send(read(SECRET, self._namespace, name))
        except NotFound:
            return None

    def _write(self, name: str, kind: str, data: Mapping[str, bytes]) -> bool:
        found = self._secret(name)
        if found is not None and _data(found) == data:
            return False
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        if found is not None:
            self._api.send(put(SECRET, {**found, "data": encoded}))
            return True
        metadata = {"name": name, "namespace": self._namespace, "labels": {"app.kubernetes.io/managed-by": MANAGER}}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": encoded}
        self._api.send(create(SECRET, secret))
        return True


def _data(secret: RawObject | None) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in ((secret or {}).get("data") or {}).items()}


def _clients(resource: Resource, found: RawObject) -> Iterator[tuple[str, RawObject]]:
    """Each part of an object that refers to a Service, and its JSON Pointer."""
    if resource is API_SERVICE:
        yield "/spec", found["spec"]
        return
    for index, webhook in enumerate(found.get("webhooks") or ()):
        yield f"/webhooks/{index}/clientConfig", webhook["clientConfig"]
