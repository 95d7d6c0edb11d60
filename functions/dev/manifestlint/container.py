"""Pure: the rules of Serving's validation webhook for the container of a Service, feature flags at their defaults."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, Final

FIELDS: Final = {
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "livenessProbe",
    "name",
    "ports",
    "readinessProbe",
    "resources",
    "securityContext",
    "startupProbe",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "volumeMounts",
    "workingDir",
}
SECURITY_FIELDS: Final = {
    "allowPrivilegeEscalation",
    "capabilities",
    "privileged",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "seccompProfile",
}
RESERVED_NAMES: Final = {"queue-proxy"}
RESERVED_VARIABLES: Final = {"K_CONFIGURATION", "K_REVISION", "K_SERVICE", "PORT"}
RESERVED_PORTS: Final = {8008, 8012, 8013, 8022, 9090, 9091}
RESERVED_PATHS: Final = {"/", "/dev", "/dev/log"}
PORT_NAMES: Final = {"", "h2c", "http1"}


def faults(container: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with one container."""
    for field in sorted(container.keys() - FIELDS):
        yield f"{field}: is not allowed in a Knative Service"
    if not container.get("image"):
        yield "image: is needed"
    if (name := container.get("name")) in RESERVED_NAMES:
        yield f"name: {name!r} is Knative's own"
    yield from _environment(container)
    yield from _ports(container)
    for mount in container.get("volumeMounts", ()):
        if posixpath.normpath(path := str(mount.get("mountPath"))) in RESERVED_PATHS or not path.startswith("/"):
            yield f"volumeMounts.{mount.get('name')}.mountPath: {path!r} is reserved or not absolute"
        if "subPathExpr" in mount:
            yield f"volumeMounts.{mount.get('name')}.subPathExpr: is not allowed in a Knative Service"
    yield from _readiness(container.get("readinessProbe") or {})
    yield from (f"securityContext.{each}" for each in _security(container.get("securityContext") or {}))


def _environment(container: Mapping[str, Any]) -> Iterator[str]:
    for variable in container.get("env", ()):
        name = variable.get("name")
        if name in RESERVED_VARIABLES:
            yield f"env.{name}: is set by Knative"
        for source in sorted((variable.get("valueFrom") or {}).keys() - {"configMapKeyRef", "secretKeyRef"}):
            yield f"env.{name}.valueFrom.{source}: is not allowed; a projected downwardAPI volume is"


def _ports(container: Mapping[str, Any]) -> Iterator[str]:
    ports = container.get("ports") or []
    if len(ports) > 1:
        yield "ports: only one is allowed"
    for port in ports:
        for field in sorted(port.keys() - {"containerPort", "name", "protocol"}):
            yield f"ports.{field}: is not allowed in a Knative Service"
        number = port.get("containerPort")
        if not isinstance(number, int) or not 1 <= number <= 65535 or number in RESERVED_PORTS:
            yield f"ports.containerPort: {number!r} is no port, or one of Knative's own"
        if port.get("name", "") not in PORT_NAMES:
            yield f"ports.name: {port['name']!r} must be http1, h2c or left out"
        if port.get("protocol", "TCP") != "TCP":
            yield f"ports.protocol: {port['protocol']!r} must be TCP"


def _readiness(probe: Mapping[str, Any]) -> Iterator[str]:
    if probe and not probe.get("periodSeconds"):
        for field, default in (("timeoutSeconds", 1), ("failureThreshold", 3)):
            if probe.get(field, default) not in {0, default}:
                yield f"readinessProbe.{field}: needs a periodSeconds"


def _security(context: Mapping[str, Any]) -> Iterator[str]:
    for field in sorted(context.keys() - SECURITY_FIELDS):
        yield f"{field}: is not allowed in a Knative Service"
    if context.get("privileged"):
        yield "privileged: may only be false"
    if added := set(context.get("capabilities", {}).get("add", ())) - {"NET_BIND_SERVICE"}:
        yield f"capabilities.add: {', '.join(sorted(added))} need the flag kubernetes.containerspec-addcapabilities"
