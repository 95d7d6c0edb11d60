"""The reconcile history on this machine: a SQLite file, recorders that fill it, and `kubectl get reconciles`."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from functions.dev import manifests
from functions.dev.certificates import CertificateAuthority
from functions.dev.cluster import Cluster, KubectlError
from functions.dev.operator import Operator, await_ready
from functions.dev.processes import ProcessGroup
from functions.webapp.resources import SYSTEM_NAMESPACE

SERVICE = "webapp-history"


def is_installed() -> bool:
    """Whether what the history needs besides the operator is there (the extra `history`)."""
    return all(find_spec(name) for name in ("sqlalchemy", "alembic"))


class History:
    """A context in which finished reconciles are kept, and served by the cluster once `serve` was called.

    `database` is its URL, by default of a SQLite file that goes with the processes; `settings` are environment
    variables for them. The cluster's API server must run on this machine, or it could not call a server here.
    """

    def __init__(
        self,
        cluster: Cluster,
        processes: ProcessGroup,
        settings: Mapping[str, str] | None = None,
        database: str = "",
    ) -> None:
        self._cluster = cluster
        self._processes = processes
        self._settings = dict(settings or {})
        self.database = database or f"sqlite:///{processes.folder / 'history.db'}"

    def __enter__(self) -> Self:
        self._cluster.apply(manifests.history_roles())
        folder = Path(self._processes.folder)
        authority = CertificateAuthority(folder, "history-ca")
        pair = authority.issue(SERVICE, hosts=[f"{SERVICE}.{SYSTEM_NAMESPACE}.svc"])
        operator = Operator(self._cluster, self._processes)
        self._process, port, self._ready = operator.start_history_apiserver(self.database, pair, self._settings)
        self._registration = _registration(authority.certificate.read_bytes(), port)
        return self

    def __exit__(self, *_: object) -> None:
        """An APIService without a server would hold up the removal of every namespace: it goes first."""
        with suppress(KubectlError):  # a cluster that is gone has none
            self._cluster.kubectl("delete", "--ignore-not-found", f"apiservice/{_name(self._registration)}")

    def recorder(self, operator: Operator) -> str:
        """Start the recorder for an operator's group; the URL is what its bridge needs as BRIDGE_HISTORY_SINK."""
        return operator.start_recorder(self.database, self._settings)

    def serve(self) -> None:
        """Return once the cluster serves reconciles."""
        await_ready(self._process, self._ready)
        self._cluster.apply(self._registration)
        found = f"apiservice/{_name(self._registration)}"
        self._cluster.kubectl("wait", "--for=condition=Available", found, "--timeout=30s")


def _name(objects: list[dict[str, Any]]) -> str:
    return str(objects[-1]["metadata"]["name"])


def _registration(authority: bytes, port: int) -> list[dict[str, Any]]:
    """The Service, which leads to this machine, and the APIService."""
    place = {"name": SERVICE, "namespace": SYSTEM_NAMESPACE}
    shipped = manifests.history_registration()
    ports = [{"name": "https", "port": port}]
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": place,
            "spec": {"type": "ExternalName", "externalName": "localhost", "ports": ports},
        },
        {
            **shipped,
            "spec": {
                **shipped["spec"],
                "service": {**place, "port": port},
                "caBundle": base64.b64encode(authority).decode(),
            },
        },
    ]
