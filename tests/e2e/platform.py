"""The product on a cluster: installed from an overlay, watched, and hurt."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from functions.dev.cluster import Cluster, KubectlError

KNATIVE = Path(__file__).resolve().parents[2] / "knative"
SYSTEM = ("--namespace", "webapp-system")
FUNCTION = "serving.knative.dev/service=webapp-reconciler"
BRIDGE = "app.kubernetes.io/name=webapp-bridge"
Raw = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What `python -m tests.e2e` was told."""

    image: str
    sample: str
    jaeger: str

    @classmethod
    def load(cls) -> Asked:
        """Read its environment."""
        return cls(*(os.environ[f"E2E_{name}"] for name in ("IMAGE", "SAMPLE", "JAEGER")))


class Platform:
    """One installation; everything is asked by kubectl, as an administrator would."""

    def __init__(self, cluster: Cluster, folder: Path, asked: Asked) -> None:
        self.cluster, self.asked = cluster, asked
        self.folder = folder
        self.namespace = "e2e"

    def install(self, overlay: str, *patches: Mapping[str, Any]) -> None:
        """`kubectl apply -k` of the overlay with our image, and wait until all of it is ready."""
        name, _, tag = self.asked.image.rpartition(":")
        components = ["tracing"] if self.asked.jaeger and overlay != "apiserversource" else []
        kustomization = {
            "resources": [os.path.relpath(KNATIVE / "overlays" / overlay, self.folder)],
            "components": [os.path.relpath(KNATIVE / "components" / each, self.folder) for each in components],
            "images": [{"name": "registry.example.com/webapp-operator", "newName": name, "newTag": tag}],
            "patches": [*self._tracing(components), *patches],
        }
        (self.folder / "kustomization.yaml").write_text(json.dumps(kustomization))
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(self.folder))
        self.cluster.kubectl("wait", "--for=condition=Established", "crd/webapps.platform.example.com", "--timeout=30s")
        if overlay != "apiserversource":
            self.cluster.kubectl("rollout", "status", "deployment/webapp-bridge", *SYSTEM, "--timeout=120s")
        self.cluster.kubectl("wait", "ksvc", "--all", "--for=condition=Ready", *SYSTEM, "--timeout=120s")

    def remove(self) -> None:
        """Delete everything and wait until it is gone; pods get no grace, theirs would take minutes."""
        self.cluster.kubectl("delete", "namespace", self.namespace, "--wait=false", "--ignore-not-found")
        self.cluster.kubectl("delete", "-k", str(self.folder), "--wait=false", "--ignore-not-found")

        def gone() -> bool:
            for namespace in (self.namespace, "webapp-system"):
                self.cluster.kubectl("delete", "pods", "--all", "-n", namespace, "--grace-period=0", "--force")
            return not self.cluster.kubectl("get", "namespace", self.namespace, "webapp-system", "--ignore-not-found")

        self.until(gone, 120, "the namespaces are gone")

    def _tracing(self, components: list[str]) -> list[Raw]:
        """Spans go to the Jaeger that the cluster has."""
        if not components:
            return []
        where = f"http://{self.asked.jaeger}:4318/v1/traces"
        function = {"group": "serving.knative.dev", "kind": "Service", "name": "webapp-reconciler"}
        path = "/spec/template/spec/containers/0/env"
        return [
            {"target": function, "patch": json.dumps([{"op": "replace", "path": f"{path}/1/value", "value": where}])},
            {
                "target": {"kind": "Deployment", "name": "webapp-bridge"},
                "patch": json.dumps([{"op": "replace", "path": f"{path}/3/value", "value": where}]),
            },
        ]

    def get(self, *what: str, namespace: str = "") -> Raw:
        """`kubectl get -o json`."""
        found: Raw = json.loads(self.cluster.kubectl("get", *what, "-n", namespace or self.namespace, "-o", "json"))
        return found

    def pods(self, selector: str, namespace: str = "webapp-system") -> list[Raw]:
        """The pods that a selector finds."""
        found: list[Raw] = self.get("pods", "-l", selector, namespace=namespace)["items"]
        return found

    def names(self, kind: str) -> set[str]:
        """The names of all objects of a kind in the namespace of the WebApps."""
        return set(self.cluster.kubectl("get", kind, "-n", self.namespace, "-o", "name").split())

    def apply(self, *names: str, **spec: Any) -> None:
        """Apply WebApps of the sample image."""
        meta = {"namespace": self.namespace}
        wanted = {"image": self.asked.sample, "port": 8080, "replicas": 0, **spec}
        self.cluster.apply(
            {
                "apiVersion": "platform.example.com/v1",
                "kind": "WebApp",
                "metadata": {**meta, "name": name},
                "spec": wanted,
            }
            for name in names
        )

    def until(self, holds: Callable[[], object], seconds: float, what: str) -> float:
        """Wait until something is so; how many seconds it took."""
        began = time.monotonic()
        while True:
            try:
                if holds():
                    return time.monotonic() - began
            except KubectlError as error:
                what = f"{what}: {error}"
            assert time.monotonic() - began < seconds, f"not so after {seconds:g} s: {what}"
            time.sleep(0.1)

    def asleep(self) -> bool:
        """Whether no pod of the function is left, one that ends included."""
        return not self.pods(FUNCTION)

    def scaled_to_zero(self) -> bool:
        """Whether the next event has to start a pod."""
        return not [pod for pod in self.pods(FUNCTION) if "deletionTimestamp" not in pod["metadata"]]

    def metric(self, name: str) -> float:
        """The sum of a metric of all bridges."""
        total = 0.0
        for pod in self.pods(BRIDGE):
            path = f"/api/v1/namespaces/webapp-system/pods/{pod['metadata']['name']}:8081/proxy/metrics"
            lines = self.cluster.kubectl("get", "--raw", path).splitlines()
            total += sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))
        return total

    def memory(self) -> dict[str, float]:
        """MiB of each of our containers, as the kubelet reads them from their cgroups (working set)."""
        (node, *_) = self.get("nodes")["items"]
        path = f"/api/v1/nodes/{node['metadata']['name']}/proxy/stats/summary"
        found = json.loads(self.cluster.kubectl("get", "--raw", path))
        return {
            f"{pod['podRef']['name']}/{container['name']}": container["memory"]["workingSetBytes"] / 2**20
            for pod in found["pods"]
            if pod["podRef"]["namespace"] == "webapp-system"
            for container in pod["containers"]
            if "memory" in container
        }

    def story(self) -> str:
        """What somebody would look at first when it does not work."""
        asked = [
            ("get", "pods,ksvc,webapps", "-A", "-o", "wide"),
            ("get", "events", "-n", "webapp-system", "--sort-by=.lastTimestamp"),
            ("logs", "-l", BRIDGE, *SYSTEM, "--tail=30", "--prefix"),
            ("logs", "-l", FUNCTION, "-c", "reconciler", *SYSTEM, "--tail=30", "--prefix"),
        ]
        found = []
        for command in asked:
            try:
                found.append(self.cluster.kubectl(*command)[-6000:])
            except KubectlError as error:
                found.append(str(error))
        return "\n".join(found)
