"""Pure: the rules of Serving's validation webhook for a Service, feature flags at their defaults.

Source: knative/serving `pkg/apis/serving/k8s_validation.go` and `fieldmask.go`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from functions.dev.manifestlint import autoscaling, container

SERVING: Final = "serving.knative.dev/"
POD_FIELDS: Final = {
    "automountServiceAccountToken",
    "containerConcurrency",
    "containers",
    "enableServiceLinks",
    "idleTimeoutSeconds",
    "imagePullSecrets",
    "responseStartTimeoutSeconds",
    "serviceAccountName",
    "timeoutSeconds",
    "volumes",
}
"""The others are behind a `kubernetes.podspec-*` flag or cannot be had at all."""

VOLUMES: Final = {"configMap", "emptyDir", "projected", "secret"}
MOST_CONCURRENCY: Final = 1000
MOST_SECONDS: Final = 600


def is_service(manifest: Mapping[str, Any]) -> bool:
    """Whether it is a Knative Service; core Services have the same kind."""
    return manifest.get("kind") == "Service" and str(manifest.get("apiVersion")).startswith(SERVING)


def faults(manifest: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a Knative Service; nothing is, with any other manifest."""
    if not is_service(manifest):
        return
    meta, template = manifest.get("metadata", {}), manifest.get("spec", {}).get("template", {})
    for key in meta.get("annotations", {}):
        if key.startswith(autoscaling.PREFIX):
            yield f"metadata.annotations.{key}: autoscaling is told in spec.template.metadata.annotations"
    inner = template.get("metadata", {})
    if (name := inner.get("name")) and not name.startswith(f"{meta.get('name')}-"):
        yield f"spec.template.metadata.name: {name!r} must begin with the Service's name and a dash; leave it out"
    yield from (
        f"spec.template.metadata.annotations.{each}" for each in autoscaling.faults(inner.get("annotations", {}))
    )
    yield from (f"spec.template.spec.{each}" for each in _pod(template.get("spec", {})))


def _pod(pod: Mapping[str, Any]) -> Iterator[str]:
    for field in sorted(pod.keys() - POD_FIELDS):
        yield f"{field}: is not allowed in a Knative Service unless the cluster sets a flag for it"
    if pod.get("automountServiceAccountToken"):
        yield "automountServiceAccountToken: may only be false; it is mounted anyway"
    yield from _bounds(pod, "containerConcurrency", MOST_CONCURRENCY)
    yield from _bounds(pod, "timeoutSeconds", MOST_SECONDS)
    containers = pod.get("containers") or []
    if not containers:
        yield "containers: one is needed"
    if sum(bool(each.get("ports")) for each in containers) > 1:
        yield "containers: only one may have a port"
    volumes = {str(each.get("name")): each for each in pod.get("volumes", ())}
    for name, volume in volumes.items():
        kinds = volume.keys() - {"name"}
        if len(kinds) != 1 or not kinds <= VOLUMES:
            yield f"volumes.{name}: must be one of {', '.join(sorted(VOLUMES))}"
        elif (volume.get("emptyDir") or {}).get("medium", "") not in {"", "Memory"}:
            yield f"volumes.{name}.emptyDir.medium: must be empty or Memory"
    mounted = {str(mount.get("name")) for each in containers for mount in each.get("volumeMounts", ())}
    for name in sorted(volumes.keys() - mounted):
        yield f"volumes.{name}: is not mounted"
    for name in sorted(mounted - volumes.keys()):
        yield f"containers.volumeMounts.{name}: there is no such volume"
    for index, each in enumerate(containers):
        yield from (f"containers[{index}].{fault}" for fault in container.faults(each))


def _bounds(pod: Mapping[str, Any], field: str, most: int) -> Iterator[str]:
    value = pod.get(field, 0)
    if not isinstance(value, int) or not 0 <= value <= most:
        yield f"{field}: {value!r} must be a whole number from 0 to {most}"
