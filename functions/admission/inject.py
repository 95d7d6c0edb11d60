"""Pure: the sidecar injector: a raw Pod in, a JSON Patch out.

It never builds a Pod of its own, so fields that this version has not heard of survive. What it injected once it never
injects again: the patch for its own result is empty, whatever other webhooks did in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from functions.admission.sharing import Impossible, Share, items, share
from functions.admission.template import Template
from functions.admission.verdict import Reason, Verdict
from functions.webapp.resources import RawObject, metadata

OPT_OUT = "sidecar-injection"
"""Label of a namespace, where `enabled` asks for sidecars; label or annotation of a Pod, where `disabled` refuses."""

_MIRROR = "kubernetes.io/config.mirror"
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_WHY = {
    Reason.NAME_TAKEN: "the Pod has a container {!r} of its own; give it another name",
    Reason.HOST_PORTS: "its ports would be the host's; do without hostNetwork",
    Reason.RUNS_TO_COMPLETION: "it would keep a Pod that runs to completion alive; use native sidecars",
}
_LISTS = ("containers", "initContainers", "ephemeralContainers")


class Mode(StrEnum):
    """`native` needs Kubernetes 1.29; `classic` is a container like the others."""

    NATIVE = "native"
    CLASSIC = "classic"


@dataclass(frozen=True, slots=True)
class Injector:
    """Decides and patches; `marker` is the annotation that names the template a Pod was injected from."""

    template: Template
    marker: str
    mode: Mode = Mode.NATIVE

    def inject(self, pod: RawObject) -> Verdict:
        """The verdict on one Pod that is about to be created; it never denies."""
        raw = pod.get("spec")
        spec: RawObject = raw if isinstance(raw, Mapping) else {}
        skipped = self._skip(pod, spec)
        if skipped is not None:
            return skipped
        try:
            shared = share(spec, self.template)
        except Impossible as why:
            return Verdict(Reason.NO_LOG_VOLUME, warnings=(str(why),))
        patch = [*_volume(spec, shared), *self._container(spec, shared), *self._annotations(pod, spec)]
        return Verdict(Reason.INJECTED, patch=patch, warnings=shared.warnings)

    def _skip(self, pod: RawObject, spec: RawObject) -> Verdict | None:
        annotations, labels = _map(metadata(pod), "annotations"), _map(metadata(pod), "labels")
        if _MIRROR in annotations:
            return Verdict(Reason.MIRROR_POD)
        if metadata(pod).get("deletionTimestamp"):
            return Verdict(Reason.DELETED)
        if "disabled" in {annotations.get(OPT_OUT), labels.get(OPT_OUT)}:
            return Verdict(Reason.OPTED_OUT)
        if any(each.get("name") == self.template.name for field in _LISTS for each in items(spec, field)):
            return Verdict(Reason.ALREADY_INJECTED) if self.marker in annotations else self._no(Reason.NAME_TAKEN)
        return self._unfit(spec)

    def _unfit(self, spec: RawObject) -> Verdict | None:
        if _map(spec, "os").get("name") == "windows" or _map(spec, "nodeSelector").get("kubernetes.io/os") == "windows":
            return Verdict(Reason.WINDOWS)
        if spec.get("hostNetwork") is True and self.template.ports:
            return self._no(Reason.HOST_PORTS)
        if self.mode is Mode.CLASSIC and spec.get("restartPolicy", "Always") != "Always":
            return self._no(Reason.RUNS_TO_COMPLETION)
        return None

    def _no(self, reason: Reason) -> Verdict:
        return Verdict(reason, warnings=(f"no log sidecar: {_WHY[reason].format(self.template.name)}",))

    def _container(self, spec: RawObject, shared: Share) -> list[dict[str, Any]]:
        container = self.template.container(shared.mount, native=self.mode is Mode.NATIVE)
        if self.mode is Mode.CLASSIC:
            return [_add("/spec/containers/-", container)]
        if spec.get("initContainers"):
            return [_add("/spec/initContainers/0", container)]
        return [_add("/spec/initContainers", [container])]

    def _annotations(self, pod: RawObject, spec: RawObject) -> list[dict[str, Any]]:
        there = metadata(pod).get("annotations")
        wanted = {self.marker: self.template.digest}
        first = next((str(each.get("name")) for each in items(spec, "containers")), "")
        if first and not _map(metadata(pod), "annotations").get(_DEFAULT_CONTAINER):
            wanted[_DEFAULT_CONTAINER] = first
        if not isinstance(there, Mapping):
            return [_add("/metadata/annotations", wanted)]
        return [_add(f"/metadata/annotations/{_escaped(key)}", value) for key, value in wanted.items()]


def _volume(spec: RawObject, shared: Share) -> list[dict[str, Any]]:
    if shared.volume is None:
        return []
    volumes = _add("/spec/volumes/-", shared.volume) if spec.get("volumes") else _add("/spec/volumes", [shared.volume])
    containers = list(items(spec, "containers"))
    mounts = (
        _add(f"/spec/containers/{index}/volumeMounts/-", shared.app_mount)
        if containers[index].get("volumeMounts")
        else _add(f"/spec/containers/{index}/volumeMounts", [shared.app_mount])
        for index in shared.containers
    )
    return [volumes, *mounts]


def _add(path: str, value: object) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def _escaped(key: str) -> str:
    """A key inside a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _map(parent: RawObject, field: str) -> RawObject:
    found = parent.get(field)
    return found if isinstance(found, Mapping) else {}
