"""Knative's own validation and defaulting webhooks, beside a control plane, as processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from functions.dev.cluster import KubectlError
from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup, free_port
from functions.dev.toolchain import Toolchain

UNPUBLISHED = {"serving": ["config-network", "config-certmanager"], "eventing": []}
"""Config maps that the module only links to: empty ones mean Knative's defaults."""

SERVICES = {"serving": "webhook", "eventing": "eventing-webhook"}


@contextmanager
def webhooks(cluster: ControlPlane) -> Iterator[None]:
    """Install the CRDs and config maps of Serving and Eventing and run their webhooks until the context ends."""
    toolchain = Toolchain.from_environment()
    with ProcessGroup(grace=0.5) as group:
        for part, service in SERVICES.items():
            folder, program = toolchain.find(part), toolchain.find(f"{part}-webhook")
            _install(cluster, part, folder)
            port = free_port()
            cluster.apply(_reachable(folder, f"knative-{part}", service, port))
            environment = {
                **os.environ,
                "KUBECONFIG": str(cluster.kubeconfig),
                "SYSTEM_NAMESPACE": f"knative-{part}",
                "POD_NAME": service,
                "CONFIG_LOGGING_NAME": "config-logging",
                "CONFIG_OBSERVABILITY_NAME": "config-observability",
                "METRICS_DOMAIN": f"knative.dev/{part}",
                "WEBHOOK_NAME": service,
                "WEBHOOK_PORT": str(port),
                "SINK_BINDING_SELECTION_MODE": "exclusion",
            }
            group.start(part, [program, "--disable-ha"], environment)
        for part, probe in PROBES.items():
            group[part].wait_until(partial(_answers, cluster, probe), 60)
        yield


PROBES = {
    "serving": "{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: probe, namespace: default}, "
    "spec: {template: {spec: {containers: [{image: dev.local/probe}]}}}}",
    "eventing": "{apiVersion: eventing.knative.dev/v1, kind: Broker, metadata: {name: probe, namespace: default}}",
}


def _install(cluster: ControlPlane, part: str, folder: Path) -> None:
    namespace = f"knative-{part}"
    crds, maps = _documents(folder / "crds"), _documents(folder / "configmaps")
    empty: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}
        for name in UNPUBLISHED[part]
    ]
    names = {each["metadata"]["name"] for each in maps}
    cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}])
    cluster.apply([*crds, *maps, *(each for each in empty if each["metadata"]["name"] not in names)])
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")


def _reachable(folder: Path, namespace: str, service: str, port: int) -> list[dict[str, Any]]:
    """The webhook configurations, and a Service by which the API server finds this machine's loopback."""
    found = _documents(folder / "webhooks")
    for each in found:
        for webhook in each.get("webhooks", ()):
            webhook["clientConfig"]["service"]["port"] = port
    external: dict[str, Any] = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}
    meta = {"name": service, "namespace": namespace}
    return [{"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": external}, *found]


def _documents(folder: Path) -> list[dict[str, Any]]:
    texts = [path.read_text() for path in sorted(folder.glob("*.yaml"))]
    return [document for text in texts for document in yaml.safe_load_all(text) if document]


def _answers(cluster: ControlPlane, probe: str) -> bool:
    try:
        return "probe" in cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=probe)
    except KubectlError:
        return False
