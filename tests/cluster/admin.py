"""The admin's hand on the cluster: objects read and written over the API itself, faster than by kubectl."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import TracerProvider

from functions.runtime import credentials, kube
from functions.webapp.errors import NotFound
from functions.webapp.resources import Resource, webapp

Raw = dict[str, Any]
WEBAPP = webapp()
POD = Resource("", "v1", "Pod", "pods")
NAMESPACE = Resource("", "v1", "Namespace", "namespaces")
CRD = Resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
_WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.02


class Admin:
    """May do everything; its requests are not in the audit log."""

    def __init__(self, kubeconfig: Path) -> None:
        tracer = TracerProvider().get_tracer("tests")
        who = credentials.load({"KUBECONFIG": str(kubeconfig)})
        self._api = kube.Api(who, tracer, connections=32, user_agent="tests")

    def create(self, resource: Resource, obj: Raw) -> Raw:
        """POST it; cluster-scoped where its metadata names no namespace."""
        return self._api.send(kube.Call("POST", resource, obj["metadata"].get("namespace", ""), body=obj))

    def get(self, resource: Resource, namespace: str, name: str) -> Raw:
        """GET it; raises NotFound."""
        return self._api.send(kube.read(resource, namespace, name))

    def find(self, resource: Resource, namespace: str, name: str) -> Raw | None:
        """GET it; None where it is not there."""
        try:
            return self.get(resource, namespace, name)
        except NotFound:
            return None

    def list(self, resource: Resource, namespace: str) -> list[Raw]:
        """All of a namespace; a list leaves apiVersion and kind out of its items, here they are put back."""
        items = self._api.send(kube.Call("GET", resource, namespace))["items"]
        return [{"apiVersion": resource.api_version, "kind": resource.kind, **item} for item in items]

    def merge(self, resource: Resource, namespace: str, name: str, changes: Raw, sub: str = "") -> Raw:
        """A JSON merge patch."""
        kind = "application/merge-patch+json"
        return self._api.send(kube.Call("PATCH", resource, namespace, name, sub, body=changes, content_type=kind))

    def put(self, resource: Resource, obj: Raw, sub: str = "") -> Raw:
        """A whole replacement."""
        meta = obj["metadata"]
        return self._api.send(kube.Call("PUT", resource, meta.get("namespace", ""), meta["name"], sub, body=obj))

    def delete(self, resource: Resource, namespace: str, name: str, policy: str = "Background") -> None:
        """DELETE it, with the given propagation policy."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy}
        self._api.send(kube.Call("DELETE", resource, namespace, name, body=body))

    def wait_gone(self, resource: Resource, namespace: str, name: str) -> None:
        """Wait until the object is no longer there."""
        until(lambda: self.find(resource, namespace, name) is None)


def until(holds: Callable[[], object], seconds: float = _WAIT_SECONDS) -> None:
    """Poll until something is so; fails the test when it does not come to pass."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not so after {seconds:g} s"
        time.sleep(_POLL_SECONDS)
