"""A Kubernetes cluster as the dev tools and the tests see it: an admin kubeconfig, kubectl, and what is installed from it."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from functions.dev import manifests
from functions.dev.toolchain import Toolchain, ToolchainError


class KubectlError(RuntimeError):
    """kubectl failed; the message is what it wrote to its standard error."""


class Cluster:
    """What every cluster offers, given the path of an admin's kubeconfig. Files it makes go into `folder`."""

    def __init__(self, kubectl: Path, kubeconfig: Path, folder: Path) -> None:
        self.kubeconfig = kubeconfig
        self.folder = folder
        self._kubectl = kubectl

    def kubectl(self, *args: str, stdin: str | None = None, kubeconfig: Path | None = None) -> str:
        """Run kubectl as the admin, or as whoever `kubeconfig` names; gives its standard output. Raises KubectlError."""
        command = [str(self._kubectl), "--kubeconfig", str(kubeconfig or self.kubeconfig), *args]
        env = {**os.environ, "KUBECACHEDIR": str(self.folder / "kubectl-cache")}
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, env=env)
        if done.returncode:
            raise KubectlError(f"kubectl {' '.join(args)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def apply(self, manifest: str | Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> str:
        """Server-side apply of YAML text, one object, or several; gives kubectl's one line for each."""
        if isinstance(manifest, Mapping):
            manifest = json.dumps(manifest)
        elif not isinstance(manifest, str):
            manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifest)})
        return self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifest)

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """A kubeconfig that speaks as a ServiceAccount, by a token of one day from the TokenRequest API."""
        token = self.kubectl("create", "token", name, "--namespace", namespace, "--duration", "24h").strip()
        view = json.loads(self.kubectl("config", "view", "--raw", "--minify", "--flatten", "--output", "json"))
        context = {"cluster": view["clusters"][0]["name"], "user": name, "namespace": namespace}
        path = self.folder / f"{namespace}.{name}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(json.dumps(kubeconfig(view["clusters"][0], {"token": token}, context)))
        return path

    def install(self, group: str = manifests.GROUP, crd: str | None = None) -> None:
        """Apply namespace, RBAC and CRD (the shipped ones, or `crd` as YAML text) for one API group; return once it is served.

        ClusterRoles have the same names whatever the group: a cluster serves one group at a time.
        """
        self.apply(manifests.installation(group, crd))
        self.kubectl("wait", "--for=condition=Established", f"crd/webapps.{group}", "--timeout=30s")
        self.kubectl("get", f"webapps.v1.{group}", "--all-namespaces")


class ExistingCluster(Cluster):
    """A cluster that runs already, reached through the kubeconfig the user has; a context manager to match ControlPlane."""

    def __init__(self, kubeconfig: Path | None = None) -> None:
        path = kubeconfig or Path(os.environ.get("KUBECONFIG") or Path.home() / ".kube" / "config")
        if not path.is_file():
            raise ToolchainError(f"KUBECONFIG: {path} is not a file: name one kubeconfig that reaches the cluster")
        on_path = shutil.which("kubectl")
        kubectl = Path(on_path) if on_path else Toolchain.from_environment().find("kubectl")
        super().__init__(kubectl, path, Path())

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="webapp-"))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def kubeconfig(cluster: Mapping[str, Any], user: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """A kubeconfig of one context; `cluster` is a named entry as kubeconfigs hold them, `context` names it and the user."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "users": [{"name": context["user"], "user": user}],
        "contexts": [{"name": "webapp", "context": context}],
        "current-context": "webapp",
    }
