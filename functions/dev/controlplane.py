"""A Kubernetes control plane on this machine: etcd, API server, controllers, scheduler, and one fake node on which pods become ready."""

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import urllib3

from functions.dev import audit, components
from functions.dev.certificates import CertificateAuthority
from functions.dev.cluster import Cluster, kubeconfig
from functions.dev.processes import LOOPBACK, ProcessGroup, free_port
from functions.dev.toolchain import Toolchain

COMPACT_TIMEOUT = 10.0
DRAIN_SECONDS = 1.0  # the API server waits much longer for its watchers to leave


class ControlPlane(Cluster):
    """A context in which the control plane runs, with nothing kept of it afterwards.

    `apiserver_flags` and `admission_plugins` go to kube-apiserver besides its own. `etcd` is the URL of etcd's client port,
    `server` that of the API server; both stay the same when the API server is stopped and started.
    """

    def __init__(
        self,
        toolchain: Toolchain | None = None,
        apiserver_flags: Iterable[str] = (),
        admission_plugins: Iterable[str] = (),
    ) -> None:
        self._toolchain = toolchain or Toolchain.from_environment()
        self._extra = components.apiserver_extras(apiserver_flags, admission_plugins)
        self._group = ProcessGroup()

    def __enter__(self) -> Self:
        programs = {name: self._toolchain.find(name) for name in components.PROGRAMS}  # may build: nothing runs meanwhile
        self._group.__enter__()
        try:
            self._start(programs)
        except BaseException:
            self._group.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.clear()
        self._group.__exit__(kind, error, trace)

    def _start(self, programs: dict[str, Path]) -> None:
        folder = self._group.folder
        self.etcd = f"http://{LOOPBACK}:{free_port()}"
        port = free_port()
        self.server = f"https://{LOOPBACK}:{port}"
        authority = CertificateAuthority(folder, "ca")
        admin = authority.issue("admin", ["system:masters"])
        self._http = urllib3.PoolManager(
            ca_certs=str(authority.certificate), cert_file=str(admin.certificate), key_file=str(admin.key)
        )
        identities = {"admin": admin} | {name: authority.issue(name) for name in components.CLIENTS}
        entry = {
            "name": "webapp",
            "cluster": {"server": self.server, "certificate-authority-data": _base64(authority.certificate)},
        }
        kubeconfigs = {name: folder / f"{name.rpartition(':')[2]}.kubeconfig" for name in identities}
        for name, pair in identities.items():
            user = {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)}
            content = kubeconfig(entry, user, {"cluster": "webapp", "user": name})
            kubeconfigs[name].touch(mode=0o600)
            kubeconfigs[name].write_text(json.dumps(content))
        super().__init__(programs["kubectl"], kubeconfigs["admin"], folder)
        self._audit = audit.AuditLog(folder / "audit.log")

        self._group.start("etcd", components.etcd(programs, folder, self.etcd, free_port()))
        self._apiserver = components.apiserver(programs, folder, authority, self.etcd, port) + self._extra
        self.start_apiserver()
        for name, command in components.clients(programs, folder, kubeconfigs).items():
            self._group.start(name, command)
        self.apply(components.NODE)
        self.kubectl("wait", "--for=condition=Ready", f"node/{components.NODE['metadata']['name']}", "--timeout=30s")

    def start_apiserver(self) -> None:
        """Start the API server on its port and wait until it answers."""
        process = self._group.start("kube-apiserver", self._apiserver)
        process.wait_until(self._ready, seconds=60.0)

    def stop_apiserver(self) -> None:
        """Stop the API server: every connection breaks, etcd keeps the state."""
        self._group["kube-apiserver"].stop(grace=DRAIN_SECONDS)

    def compact(self) -> None:
        """Make every watch or list from a revision before now fail with 410 Gone.

        Compacts etcd, then restarts the API server, whose watch cache would go on serving the old revisions.
        """
        revision = self._etcd("range", {"key": base64.b64encode(b"/").decode(), "limit": 1})["header"]["revision"]
        self.stop_apiserver()
        self._etcd("compaction", {"revision": revision, "physical": True})
        self.start_apiserver()

    def mark(self) -> int:
        """The moment now in the audit log, to be given as `since`."""
        return self._audit.mark()

    def audit(self, user: str, since: int = 0) -> list[dict[str, Any]]:
        """The audit events of one user since a `mark`, one per request; only ServiceAccounts of webapp-system are logged."""
        return self._audit.requests(user, since)

    def _ready(self) -> bool:
        try:
            return self._http.request("GET", f"{self.server}/readyz", retries=False, timeout=2.0).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def _etcd(self, call: str, body: dict[str, Any]) -> Any:
        answer = self._http.request("POST", f"{self.etcd}/v3/kv/{call}", json=body, timeout=COMPACT_TIMEOUT)
        if answer.status != 200:
            raise RuntimeError(f"etcd refused {call}: {answer.data.decode()}")
        return answer.json()


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
