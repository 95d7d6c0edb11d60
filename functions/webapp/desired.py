"""Pure: the Deployment, Service and Ingress that a WebApp asks for, in the terms of `overlay`.

Every optional field of the WebApp appears here on both sides: set, it is a value; unset, it is `None`, so that it goes
away in the child. What the API server fills in by itself is left unsaid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from functions.webapp.model import EnvVar, PodSecurityContext, Resources, WebAppSpec
from functions.webapp.overlay import Keyed, Quantity, Whole
from functions.webapp.resources import DEPLOYMENT, INGRESS, MANAGER, RawObject, Resource, meta_text, metadata

CONTAINER = "app"
_PORT = "http"

Desired = Mapping[str, Any]


def child(
    kind: Resource, webapp: RawObject, spec: WebAppSpec, resource: Resource, ingress: RawObject | None = None
) -> Desired | None:
    """What one child shall be; None where it shall not exist.

    `resource` is the WebApp's own resource, for the owner reference; `ingress` is the Ingress as observed, see
    `_ingress_class`.
    """
    if kind == INGRESS:
        return _ingress(webapp, spec, resource, ingress) if spec.host else None
    body = _deployment(webapp, spec) if kind == DEPLOYMENT else _service(webapp, spec)
    return {**_head(webapp, kind, resource), "spec": body}


def selector(webapp: RawObject) -> dict[str, str]:
    """The labels by which Deployment and Service find the pods: never to be changed, so nothing else is in it."""
    return {"app": meta_text(webapp, "name")}


def url(spec: WebAppSpec) -> str | None:
    """Where the host is served."""
    return spec.host and f"{'https' if spec.tls_secret_name else 'http'}://{spec.host}/"


def _labels(webapp: RawObject) -> dict[str, str]:
    name = meta_text(webapp, "name")
    return {
        **selector(webapp),
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/managed-by": MANAGER,
    }


def _head(webapp: RawObject, child: Resource, resource: Resource) -> dict[str, Any]:
    owner = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": meta_text(webapp, "name"),
        "uid": meta_text(webapp, "uid"),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    meta = {
        "name": meta_text(webapp, "name"),
        "namespace": meta_text(webapp, "namespace"),
        "labels": _labels(webapp),
        "ownerReferences": Keyed("uid", (owner,)),
    }
    return {"apiVersion": child.api_version, "kind": child.kind, "metadata": meta}


def _deployment(webapp: RawObject, spec: WebAppSpec) -> dict[str, Any]:
    pod = {
        "containers": Keyed("name", (_container(spec),)),
        "nodeSelector": Whole(spec.node_selector) if spec.node_selector else None,
        "imagePullSecrets": [{"name": each.name} for each in spec.image_pull_secrets or ()] or None,
        "securityContext": _security(spec.security_context),
    }
    found: dict[str, Any] = {
        "selector": {"matchLabels": Whole(selector(webapp))},
        "template": {"metadata": {"labels": _labels(webapp)}, "spec": pod},
    }
    return found if spec.autoscaled else {"replicas": spec.replicas, **found}


def _container(spec: WebAppSpec) -> dict[str, Any]:
    http = {"path": spec.readiness_path, "port": spec.port} if spec.readiness_path else None
    tcp = None if http else {"port": spec.port}
    return {
        "name": CONTAINER,
        "image": spec.image,
        "ports": [{"name": _PORT, "containerPort": spec.port, "protocol": "TCP"}],
        "env": [_variable(each) for each in spec.env or ()] or None,
        "resources": _resources(spec.resources),
        "readinessProbe": {"httpGet": http, "tcpSocket": tcp, "exec": None, "grpc": None},  # at most one is allowed
    }


def _variable(env: EnvVar) -> dict[str, Any]:
    source: dict[str, Any] | None = None
    if env.value_from is not None:
        source = env.value_from.model_dump(by_alias=True)
        if source["fieldRef"]:
            source["fieldRef"]["apiVersion"] = source["fieldRef"]["apiVersion"] or "v1"
        if source["resourceFieldRef"]:
            source["resourceFieldRef"]["divisor"] = Quantity(source["resourceFieldRef"]["divisor"] or "0")
    return {"name": env.name, "value": env.value or None, "valueFrom": source}  # the API server drops an empty value


def _resources(resources: Resources) -> dict[str, Any]:
    sides = {"requests": resources.requests, "limits": resources.limits}
    return {
        side: Whole({name: Quantity(amount) for name, amount in amounts.items()}) if amounts else None
        for side, amounts in sides.items()
    }


def _security(context: PodSecurityContext | None) -> dict[str, Any]:
    found = (context or PodSecurityContext()).model_dump(by_alias=True)
    return {**found, "supplementalGroups": found["supplementalGroups"] or None}


def _service(webapp: RawObject, spec: WebAppSpec) -> dict[str, Any]:
    port = {"name": _PORT, "port": spec.port, "targetPort": spec.port, "protocol": "TCP"}
    return {"selector": Whole(selector(webapp)), "ports": [port]}


def _ingress(webapp: RawObject, spec: WebAppSpec, resource: Resource, observed: RawObject | None) -> dict[str, Any]:
    head = _head(webapp, INGRESS, resource)
    annotation, ingress_class = _ingress_class(spec, f"{resource.group}/ingress-class", observed)
    backend = {"service": {"name": meta_text(webapp, "name"), "port": {"number": spec.port, "name": None}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    tls = [{"hosts": [spec.host], "secretName": spec.tls_secret_name}] if spec.tls_secret_name else None
    return {
        **head,
        "metadata": {**head["metadata"], **annotation},
        "spec": {**ingress_class, "rules": [{"host": spec.host, "http": {"paths": [path]}}], "tls": tls},
    }


def _ingress_class(spec: WebAppSpec, key: str, observed: RawObject | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The class with the annotation that remembers that it came from us.

    A class that nobody asked for may be the cluster's default, set by the DefaultIngressClass admission plugin, and has
    to stay; one that we wrote has to go when the WebApp no longer names it.
    """
    if spec.ingress_class_name:
        return {"annotations": {key: spec.ingress_class_name}}, {"ingressClassName": spec.ingress_class_name}
    annotations = metadata(observed or {}).get("annotations")
    if isinstance(annotations, Mapping) and key in annotations:
        return {"annotations": {key: None}}, {"ingressClassName": None}
    return {}, {}
