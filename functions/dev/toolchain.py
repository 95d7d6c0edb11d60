"""Where a control plane's programs come from: a folder the user names, earlier builds, or Go modules in `parts/`."""

import hashlib
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from functions.dev import build
from functions.dev.build import Part, ToolchainError

PACKAGE = Path(__file__).parent
PARTS = (
    Part(
        name="kubernetes",
        module="k8s.io/kubernetes",
        files={name: name for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")},
        minutes=4,
        version_package="k8s.io/component-base/version",
    ),
    Part(name="etcd", module="go.etcd.io/etcd/server/v3", files={"server": "etcd"}, minutes=1),
    Part(
        name="kwok",
        module="sigs.k8s.io/kwok",
        files={"kwok": "kwok"},
        minutes=2,
        copies={
            f"kustomize/stage/{stage}.yaml": f"stages/{Path(stage).name}.yaml"
            for stage in (
                "node/fast/node-initialize",
                "node/heartbeat/node-heartbeat",
                "pod/fast/pod-ready",
                "pod/fast/pod-complete",
                "pod/fast/pod-delete",
            )
        },
    ),
    Part(
        name="knative-serving",
        module="knative.dev/serving",
        files={"webhook": "serving-webhook", "queue": "queue-proxy"},
        minutes=2,
        copies={
            "config/core/300-resources": "serving/crds",
            "config/core/configmaps": "serving/configmaps",
            "config/core/webhooks": "serving/webhooks",
        },
    ),
    Part(
        name="knative-eventing",
        module="knative.dev/eventing",
        files={"webhook": "eventing-webhook"},
        minutes=1,
        copies={
            "config/core/resources": "eventing/crds",
            "config/core/configmaps": "eventing/configmaps",
            "config/core/webhooks": "eventing/webhooks",
        },
    ),
    Part(name="jaeger", module="github.com/jaegertracing/jaeger", files={"jaeger": "jaeger"}, minutes=3),
    Part(
        name="hydra",
        module="github.com/ory/hydra/v2",
        files={"hydra": "hydra"},
        minutes=3,
        tags=("sqlite", "json1"),
        cgo=True,
    ),
)


@dataclass(frozen=True)
class Toolchain:
    """Finds programs by name in `assets`, else in `cache`, which it fills by building the modules under `modules`."""

    cache: Path
    assets: Path | None = None
    modules: Path = PACKAGE / "parts"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read KUBEBUILDER_ASSETS (a folder of programs, as for controller-runtime's envtest) and WEBAPP_CACHE.

        Without WEBAPP_CACHE a checkout keeps its builds in `.cache`, an installed package in the user's cache folder
        (XDG_CACHE_HOME).
        """
        assets = Path(environ["KUBEBUILDER_ASSETS"]) if environ.get("KUBEBUILDER_ASSETS") else None
        if assets and not assets.is_dir():
            raise ToolchainError(f"KUBEBUILDER_ASSETS: {assets} is not a folder: name one that holds kube-apiserver")
        return cls(cache=cache_folder(environ) / "parts", assets=assets)

    def find(self, name: str) -> Path:
        """Path of a program (`etcd`, `kubectl`, ...) or of `stages`, KWOK's folder of life cycles, built if need be.

        Raises ToolchainError when it is neither there nor can be built.
        """
        if self.assets and (self.assets / name).exists():
            return self.assets / name
        for part in PARTS:
            if name in part.contents:
                return self._built(part) / name
        known = ", ".join(sorted(name for part in PARTS for name in part.contents))
        raise ToolchainError(f"no part provides {name!r}: known are {known}")

    def _built(self, part: Part) -> Path:
        source = self.modules / part.name
        folder = self.cache / part.name / _digest(source)
        if not folder.is_dir():
            build.build(part, source, folder)
        return folder


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where builds are kept: WEBAPP_CACHE, `.cache` of a checkout, or the user's cache folder."""
    if environ.get("WEBAPP_CACHE"):
        return Path(environ["WEBAPP_CACHE"])
    checkout = PACKAGE.parents[1]
    if (checkout / "pyproject.toml").is_file():
        return checkout / ".cache"
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "webapp-operator"


def _digest(source: Path) -> str:
    """A name for what a module pins on this kind of machine: another go.mod or go.sum is another build."""
    pins = b"\0".join([(source / "go.mod").read_bytes(), (source / "go.sum").read_bytes(), platform.machine().encode()])
    return hashlib.sha256(pins).hexdigest()[:12]
