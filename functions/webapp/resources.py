"""Pure: where kinds of objects live in the Kubernetes API, and how a raw object names itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

RawObject = Mapping[str, Any]
"""A Kubernetes object as JSON gave it: nothing about its shape is promised."""

DEFAULT_GROUP = "platform.example.com"
VERSION = "v1"
KIND = "WebApp"
PLURAL = "webapps"

SYSTEM_NAMESPACE = "webapp-system"
MANAGER = "webapp-operator"
"""Our field manager, `app.kubernetes.io/managed-by` and the reporting controller of Events: one name everywhere."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One served resource, e.g. `Resource("apps", "v1", "Deployment", "deployments")`; the core group is ""."""

    group: str
    version: str
    kind: str
    plural: str

    @classmethod
    def parse(cls, text: str) -> Resource:
        """Read `deployments.v1.apps/Deployment`, the form of settings; ValueError says what is missing.

        The first half is kubectl's RESOURCE.VERSION.GROUP, the second the kind; the core group is left out
        (`services.v1/Service`).
        """
        name, slash, kind = text.strip().partition("/")
        plural, _, rest = name.partition(".")
        version, _, group = rest.partition(".")
        if not (slash and kind and plural and version):
            raise ValueError(f"{text!r} is not RESOURCE.VERSION.GROUP/Kind, such as deployments.v1.apps/Deployment")
        return cls(group, version, kind, plural)

    @property
    def api_version(self) -> str:
        """What stands in an object's `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The path prefix of the group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str, name: str = "", sub: str = "") -> str:
        """The path of a collection (no name), an object, or a subresource; no namespace means all of them."""
        parts = [self.root, *(["namespaces", namespace] if namespace else []), self.plural]
        return "/".join([*parts, *filter(None, (name, sub))])

    def template(self, *, name: bool = True, sub: str = "") -> str:
        """`path` with the names left open: low-cardinality, for spans and metrics (`url.template`)."""
        return self.path("{namespace}", "{name}" if name else "", sub)


def webapp(group: str = DEFAULT_GROUP) -> Resource:
    """The WebApp resource in the API group that this installation uses."""
    return Resource(group, VERSION, KIND, PLURAL)


DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")
SERVICE = Resource("", "v1", "Service", "services")
INGRESS = Resource("networking.k8s.io", "v1", "Ingress", "ingresses")
EVENT = Resource("events.k8s.io", "v1", "Event", "events")
LEASE = Resource("coordination.k8s.io", "v1", "Lease", "leases")
OWNED = (DEPLOYMENT, SERVICE, INGRESS)
"""The children of a WebApp, in the order in which they are written."""


def metadata(obj: RawObject) -> RawObject:
    """The object's metadata, or an empty mapping where it has none."""
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def meta_text(obj: RawObject, field: str) -> str:
    """One text field of the metadata (`uid`, `resourceVersion`, `name`, …); "" where it is absent or no text."""
    found = metadata(obj).get(field)
    return found if isinstance(found, str) else ""


def owner_references(obj: RawObject) -> list[RawObject]:
    """The owner references that have the shape of one; their index is kept by `controller`."""
    found = metadata(obj).get("ownerReferences")
    return [ref for ref in found if isinstance(ref, dict)] if isinstance(found, list) else []


def controller(obj: RawObject) -> RawObject | None:
    """The owner reference with `controller: true`; the API server allows at most one."""
    return next((ref for ref in owner_references(obj) if ref.get("controller") is True), None)
