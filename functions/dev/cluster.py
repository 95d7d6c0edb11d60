"""A Kubernetes cluster as dev tools and tests see it: an admin's kubeconfig, kubectl, and what we install in it."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from functions.dev import kubeconfig, manifests
from functions.dev.toolchain import Toolchain
from functions.webapp.errors import WebAppError
from functions.webapp.resources import DEFAULT_GROUP, PLURAL, VERSION


class KubectlError(WebAppError):
    """kubectl failed; the message is what it wrote to its standard error."""

    error_type = "kubectl"


class Cluster:
    """What every cluster offers, given the path of an admin's kubeconfig. Files it makes go into `folder`."""

    def __init__(self, kubectl: Path, kubeconfig: Path, folder: Path) -> None:
        self.kubeconfig = kubeconfig
        self.folder = folder
        self._kubectl = kubectl

    def kubectl(self, *args: str, stdin: str | None = None, kubeconfig: Path | None = None) -> str:
        """Run kubectl as the admin, or as whoever `kubeconfig` names; gives what it printed. Raises KubectlError."""
        command = [str(self._kubectl), "--kubeconfig", str(kubeconfig or self.kubeconfig), *args]
        env = {**os.environ, "KUBECACHEDIR": str(self.folder / "kubectl-cache")}
        done = subprocess.run(command, input=stdin or "", capture_output=True, text=True, check=False, env=env)
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
        path = self.folder / f"{namespace}.{name}.kubeconfig"
        return kubeconfig.write(path, view["clusters"][0]["cluster"], {"token": token}, name, namespace)

    def install(self, group: str = DEFAULT_GROUP) -> None:
        """Apply namespace, RBAC and CRD for one API group; return once WebApps are served."""
        self.apply(manifests.installation(group))
        self._await_served(group)

    def install_another(self, group: str) -> None:
        """Serve one more API group beside the installed one; the same ServiceAccounts may handle both."""
        self.apply(manifests.addition(group))
        self._await_served(group)

    def _await_served(self, group: str) -> None:
        self.kubectl("wait", "--for=condition=Established", f"crd/{PLURAL}.{group}", "--timeout=30s")
        self.kubectl("get", f"{PLURAL}.{VERSION}.{group}", "--all-namespaces")


class ExistingCluster(Cluster):
    """A cluster that runs already, reached by the user's own kubeconfig; a context manager, to match ControlPlane."""

    def __init__(self, path: Path | None = None) -> None:
        path = path or Path(os.environ.get("KUBECONFIG") or Path.home() / ".kube" / "config")
        if not path.is_file():
            raise KubectlError(f"KUBECONFIG: {path} is not a file: name the one kubeconfig that reaches your cluster")
        on_path = shutil.which("kubectl")
        kubectl = Path(on_path) if on_path else Toolchain.from_environment().find("kubectl")
        super().__init__(kubectl, path, Path())

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="webapp-"))
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
