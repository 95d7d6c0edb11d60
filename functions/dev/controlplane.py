"""A Kubernetes control plane on this machine, with one fake node on which pods become ready."""

import base64
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import urllib3

from functions.dev import components, kubeconfig
from functions.dev.audit import AuditLog
from functions.dev.certificates import CertificateAuthority
from functions.dev.cluster import Cluster
from functions.dev.processes import LOOPBACK, Process, ProcessError, ProcessGroup, free_port
from functions.dev.toolchain import Toolchain
from functions.webapp.resources import webapp

START_SECONDS = 60.0
_CONTROLLERS = "kube-controller-manager"
DRAIN_SECONDS = 0.5
"""How long a stopping API server may finish requests; it would wait longer for its watchers to leave."""


class ControlPlane(Cluster):
    """A context in which etcd, the API server, controllers, scheduler and KWOK run; nothing of it outlives the context.

    `apiserver_flags` and `admission_plugins` go to kube-apiserver besides its own. `server` is the API server's URL and
    `etcd` that of etcd's client port; both stay the same when the API server is stopped and started. `authorities` sign
    more certificates that it trusts.
    """

    def __init__(
        self,
        toolchain: Toolchain | None = None,
        apiserver_flags: Iterable[str] = (),
        admission_plugins: Iterable[str] = (),
    ) -> None:
        self._toolchain = toolchain or Toolchain.from_environment()
        self._extra = components.apiserver_extra(apiserver_flags, admission_plugins)

    def __enter__(self) -> Self:
        programs = {name: self._toolchain.find(name) for name in components.PROGRAMS}
        with ExitStack() as stack:
            self._group = stack.enter_context(ProcessGroup(grace=DRAIN_SECONDS))
            self._start(programs)
            stack.callback(self._http.clear)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self, programs: dict[str, Path]) -> None:
        folder, port = self._group.folder, free_port()
        self.etcd = f"http://{LOOPBACK}:{free_port()}"
        self.server = f"https://{LOOPBACK}:{port}"
        authority = CertificateAuthority(folder, "ca")
        self.authorities = components.Authorities(authority, CertificateAuthority(folder, "front-proxy-ca"))
        admin = authority.issue("admin", ["system:masters"])
        users = {"admin": admin} | {name: authority.issue(name) for name in components.USERS}
        cluster = kubeconfig.cluster(self.server, authority.certificate)
        kubeconfigs = {
            name: kubeconfig.write(
                pair.certificate.with_suffix(".kubeconfig"), cluster, kubeconfig.certificate_user(pair), name
            )
            for name, pair in users.items()
        }
        super().__init__(programs["kubectl"], kubeconfigs["admin"], folder)
        self._http = urllib3.PoolManager(
            ca_certs=str(authority.certificate), cert_file=str(admin.certificate), key_file=str(admin.key)
        )
        self._served = ["/readyz"]
        self._audit = AuditLog(folder / "audit.log")
        self._group.start("etcd", components.etcd(programs, folder, self.etcd, free_port()))
        self._apiserver = [*components.apiserver(programs, folder, self.authorities, self.etcd, port), *self._extra]
        self.start_apiserver()
        self._clients = components.clients(programs, folder, kubeconfigs)
        for name, command in self._clients.items():
            self._group.start(name, command)
        self.apply(components.NODE)
        self.kubectl("wait", "--for=condition=Ready", f"node/{components.NODE_NAME}", "--timeout=30s")

    def _await_served(self, group: str) -> None:
        """As for every cluster; from now on an API server that starts is waited for until it serves WebApps.

        The garbage collector looks for new kinds every 30 seconds only, but also when it starts.
        """
        super()._await_served(group)
        self._served.append(webapp(group).path(""))
        self._group[_CONTROLLERS].stop()
        self._group.start(_CONTROLLERS, self._clients[_CONTROLLERS])

    def process(self, name: str) -> Process:
        """One of the running parts (`etcd`, `kube-apiserver`, ...), to send signals or to read its log."""
        return self._group[name]

    def start_apiserver(self) -> None:
        """Start the API server on its port and wait until it is ready."""
        self._group.start("kube-apiserver", self._apiserver).wait_until(self._ready, START_SECONDS)

    def stop_apiserver(self) -> None:
        """Stop the API server: every connection breaks, etcd keeps the state."""
        self._group["kube-apiserver"].stop(DRAIN_SECONDS)

    def compact(self) -> None:
        """Make every watch from a revision before now fail with 410 Gone.

        Compacts etcd, and restarts the API server: its watch cache would go on serving the old revisions.
        """
        self.stop_apiserver()
        key = base64.b64encode(b"/").decode()
        revision = self._etcd("range", {"key": key})["header"]["revision"]
        self._etcd("compaction", {"revision": revision, "physical": True})
        self.start_apiserver()

    def mark(self) -> int:
        """The moment now in the audit log, to be given as `since`."""
        return self._audit.mark()

    def audit(self, user: str, since: int = 0) -> list[dict[str, Any]]:
        """The audit events of a user since a `mark`, one per request; only ServiceAccounts of ours are logged."""
        return self._audit.requests(user, since)

    def _ready(self) -> bool:
        """Ask each path: custom resources answer 429 for a while after `/readyz` says ok."""
        urls = [self.server + path for path in self._served]
        try:
            return all(self._http.request("GET", url, retries=False, timeout=2.0).status == 200 for url in urls)
        except urllib3.exceptions.HTTPError:
            return False

    def _etcd(self, call: str, body: dict[str, Any]) -> Any:
        """Call etcd's JSON gateway (etcd's `rpc.proto`, service KV)."""
        answer = self._http.request("POST", f"{self.etcd}/v3/kv/{call}", json=body, timeout=10.0)
        if answer.status != 200:
            raise ProcessError(f"etcd refused {call}: {answer.data.decode()}")
        return answer.json()
