"""Objects as tests need them: a plain WebApp or child, and adjectives that change one thing about it.

    webapp(hosted, stored, image="nginx:2")     a WebApp with a host, as the API server would give it back

An adjective takes an object and gives a changed copy, so they can be stacked; none of them touches what it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from functions.webapp import desired, model, overlay
from functions.webapp.plan import Observed
from functions.webapp.resources import DEPLOYMENT, INGRESS, OWNED, SERVICE, Resource
from functions.webapp.resources import webapp as webapp_resource

Raw = dict[str, Any]
Adjective = Callable[[Raw], Raw]

WEBAPP = webapp_resource()
UID = "7f0c2c0e-0000-4000-8000-000000000001"
OTHER_UID = "7f0c2c0e-0000-4000-8000-000000000002"
NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def described(obj: Raw, *adjectives: Adjective) -> Raw:
    """The object with each adjective applied in turn."""
    for adjective in adjectives:
        obj = adjective(deepcopy(obj))
    return obj


def webapp(*adjectives: Adjective, name: str = "web", namespace: str = "team", **spec: Any) -> Raw:
    """A WebApp as somebody would apply it; an image is all it needs."""
    plain = {
        "apiVersion": WEBAPP.api_version,
        "kind": WEBAPP.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"image": "nginx:1.27", **spec},
    }
    return described(plain, *adjectives)


def asking(**spec: Any) -> Adjective:
    """With these fields of the spec; None takes one out."""
    return lambda obj: {**obj, "spec": {k: v for k, v in {**obj["spec"], **spec}.items() if v is not None}}


def with_meta(**fields: Any) -> Adjective:
    """With these fields of the metadata."""
    return lambda obj: {**obj, "metadata": {**obj["metadata"], **fields}}


def with_status(**fields: Any) -> Adjective:
    """With these fields of the status."""
    return lambda obj: {**obj, "status": {**obj.get("status", {}), **fields}}


hosted = asking(host="web.example.com")
paused = asking(paused=True)
stored = with_meta(uid=UID, resourceVersion="100", generation=1)
deleting = with_meta(deletionTimestamp="2026-03-01T09:00:00Z")


def children(owner: Raw) -> Observed:
    """What a stored WebApp asks for, as if written a moment ago; no controller has looked at it yet."""
    wanted = {each: desired.child(each, owner, model.parse(owner), WEBAPP) for each in OWNED}
    return {resource: child and _written(overlay.render(child)) for resource, child in wanted.items()}


def _written(child: Raw) -> Raw:
    return with_meta(uid=f"uid-of-{child['kind']}", resourceVersion="200", generation=1)(child)


def available(deployment: Raw) -> Raw:
    """A Deployment all of whose pods serve."""
    count = deployment["spec"].get("replicas", 1)
    told = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"), count)
    return with_status(observedGeneration=deployment["metadata"]["generation"], **told)(deployment)


def complaining(type_: str, status: str, reason: str, message: str) -> Adjective:
    """A Deployment with one condition of the Deployment controller."""
    told = {"type": type_, "status": status, "reason": reason, "message": message}
    return with_status(conditions=[told])


def places(found: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside a JSON value."""
    inner = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    return [place for name, value in inner for place in [(*path, name), *places(value, (*path, name))]]


def someone_elses(child: Raw) -> Raw:
    """A child that another object controls."""
    (reference,) = child["metadata"]["ownerReferences"]
    return with_meta(ownerReferences=[{**reference, "uid": OTHER_UID}])(child)


def snapshot(owner: Raw, observed: Observed) -> Raw:
    """The snapshot of an event about exactly this state."""
    return {"webapp": owner, "owned": [child for child in observed.values() if child is not None]}


def foreign(resource: Resource, name: str, namespace: str) -> Raw:
    """An object of a child's kind that nobody owns, in a form that the API server accepts."""
    labels = {"app": "theirs"}
    pod = {"containers": [{"name": "theirs", "image": "theirs:1"}]}
    rule = {"http": {"paths": [{"path": "/", "pathType": "Exact", "backend": {"resource": _BUCKET}}]}}
    spec = {
        DEPLOYMENT: {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
        SERVICE: {"selector": labels, "ports": [{"port": 4711}]},
        INGRESS: {"rules": [rule]},
    }[resource]
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, "spec": spec}


_BUCKET = {"apiGroup": "example.org", "kind": "Bucket", "name": "theirs"}
