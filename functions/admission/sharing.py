"""Pure: how the sidecar of a Pod comes to see the directory that the application logs to."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from functions.admission.template import Template
from functions.webapp.resources import RawObject


@dataclass(frozen=True, slots=True)
class Share:
    """`mount` is the sidecar's; a `volume` is to be added, and mounted as `app_mount` in `containers` (indices)."""

    mount: dict[str, Any]
    volume: dict[str, Any] | None = None
    app_mount: dict[str, Any] | None = None
    containers: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()


class Impossible(Exception):
    """The directory cannot be shared; the message is a warning for the Pod's author."""


def share(spec: RawObject, template: Template) -> Share:
    """Reuse the volume that holds the log directory, else add one that is bounded; raises Impossible.

    A new volume is kept from containers that mount something below the log directory: it would hide where that lies.
    """
    directory = template.log_directory
    containers = list(items(spec, "containers"))
    for container in containers:
        if (found := _holding(container, directory)) is not None:
            return Share(_reused(found, container, directory))
    free = [index for index, container in enumerate(containers) if not _below(container, directory)]
    if not free:
        raise Impossible(
            f"no log sidecar: every container mounts a volume below {directory}; mount one at {directory} instead"
        )
    name = _free_name(spec, template.volume_name)
    left_out = [str(each.get("name")) for index, each in enumerate(containers) if index not in free]
    return Share(
        mount={"name": name, "mountPath": directory, "readOnly": True},
        volume={"name": name, "emptyDir": {"sizeLimit": template.volume_size_limit}},
        app_mount={"name": name, "mountPath": directory},
        containers=tuple(free),
        warnings=tuple(
            f"the log sidecar does not see container {each!r}: it mounts a volume below {directory}"
            for each in left_out
        ),
    )


def items(parent: RawObject, field: str) -> Iterator[RawObject]:
    """The objects in a list field that may be absent or null."""
    found = parent.get(field)
    return (each for each in found if isinstance(each, Mapping)) if isinstance(found, list) else iter(())


def _holding(container: RawObject, directory: str) -> RawObject | None:
    """The innermost mount at the directory or above it."""
    above = [each for each in items(container, "volumeMounts") if _contains(_path(each), directory)]
    return max(above, key=lambda each: len(_path(each)), default=None)


def _reused(mount: RawObject, container: RawObject, directory: str) -> dict[str, Any]:
    if mount.get("subPathExpr"):
        raise Impossible(
            f"no log sidecar: container {container.get('name')!r} mounts {directory} by subPathExpr, whose variables"
            " another container does not have; use subPath"
        )
    sub_path = {"subPath": mount["subPath"]} if mount.get("subPath") else {}
    return {"name": mount["name"], "mountPath": mount["mountPath"], **sub_path, "readOnly": True}


def _below(container: RawObject, directory: str) -> bool:
    return any(_path(each) != directory and _contains(directory, _path(each)) for each in _mounted(container))


def _mounted(container: RawObject) -> Iterator[RawObject]:
    yield from items(container, "volumeMounts")


def _contains(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def _path(mount: RawObject) -> str:
    return posixpath.normpath(str(mount.get("mountPath") or "."))


def _free_name(spec: RawObject, wanted: str) -> str:
    taken = {each.get("name") for each in items(spec, "volumes")}
    names = (f"{wanted[:60]}-{number}" for number in range(2, 1000))
    return wanted if wanted not in taken else next(each for each in names if each not in taken)
