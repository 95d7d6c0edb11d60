"""Where a contender is measured: a fresh control plane, an administrator's client, a namespace full of WebApps."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import urllib3

from functions.dev.controlplane import ControlPlane
from functions.dev.processes import LOOPBACK, Process, ProcessError, ProcessGroup, free_port
from functions.runtime import credentials, kube, telemetry
from functions.runtime.kube import Api, Call
from functions.webapp.resources import OWNED, SYSTEM_NAMESPACE, RawObject, webapp

NAMESPACE = "bench"
TWIN = "webapp-twin"
"""The ServiceAccount of whatever is measured beside ours; priority and fairness applies to it as to ours."""

RESOURCE = webapp()
MERGE_PATCH = "application/merge-patch+json"
_CREATORS = 8
_START_SECONDS = 60.0
_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.005
_MODULES = {"webapp-bridge": "event_bridge", "webapp-reconciler": "functions.reconcile"}
_CONTROLLERS = ("kube-controller-manager", "kube-scheduler", "kwok")
_RULES: list[dict[str, Any]] = [
    {"apiGroups": [RESOURCE.group], "resources": ["*"], "verbs": ["get", "list", "watch", "update", "patch"]},
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["services"], "verbs": ["*"]},
    {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["*"]},
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
    {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["list", "watch"]},
    {"apiGroups": [""], "resources": ["namespaces", "configmaps", "secrets"], "verbs": ["get", "list", "watch"]},
]
_ROLE = {"kind": "ClusterRole", "name": TWIN}
_TWIN_MANIFESTS: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": TWIN, "namespace": SYSTEM_NAMESPACE}},
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": TWIN},
        "rules": _RULES,
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": TWIN},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", **_ROLE},
        "subjects": [{"kind": "ServiceAccount", "name": TWIN, "namespace": SYSTEM_NAMESPACE}],
    },
]


class Rig:
    """A context. Without `controllers` those of Kubernetes stand still, so that only the contender works."""

    def __init__(self, *, controllers: bool = False) -> None:
        self._controllers = controllers
        self._kubeconfigs: dict[str, Path] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.cluster = stack.enter_context(ControlPlane())
            self.processes = stack.enter_context(ProcessGroup())
            self.cluster.install()
            self.cluster.apply(_TWIN_MANIFESTS)
            self.cluster.kubectl("create", "namespace", NAMESPACE)
            if not self._controllers:
                for name in _CONTROLLERS:
                    self.cluster.process(name).signal(signal.SIGSTOP)
            self.api = admin(self.cluster.kubeconfig, connections=_CREATORS)
            stack.callback(self.api.close)
            self.create(99_999)  # the first of its kind is slow: nobody's fault
            self.clear()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def send(self, call: Call) -> dict[str, Any]:
        """A call of the administrator, who is patient when the machine is busy; raises ApiError."""
        return self.api.send(call, timeout=_PATIENCE_SECONDS)

    def create(self, number: int, env: str = "0") -> RawObject:
        """Create one WebApp with three children to come; replicas 0, so that it is ready as soon as they are there."""
        name = name_of(number)
        spec = {
            "image": "registry.example/web:1",
            "replicas": 0,
            "port": 8080,
            "host": f"{name}.example.com",
            "env": [{"name": "SEQ", "value": env}],
        }
        meta = {"name": name, "namespace": NAMESPACE}
        body = {"apiVersion": RESOURCE.api_version, "kind": RESOURCE.kind, "metadata": meta, "spec": spec}
        return self.send(kube.create(RESOURCE, body))

    def change(self, number: int, **spec: Any) -> RawObject:
        """Merge fields into one WebApp's spec."""
        body = {"spec": spec}
        name = name_of(number)
        return self.send(Call("PATCH", RESOURCE, NAMESPACE, name, body=body, content_type=MERGE_PATCH))

    def children(self) -> dict[str, list[RawObject]]:
        """The children in the namespace by kind."""
        return {each.kind: self.send(Call("GET", each, NAMESPACE))["items"] for each in OWNED}

    def webapps(self) -> dict[str, RawObject]:
        """The spec of every WebApp by name."""
        found = self.send(Call("GET", RESOURCE, NAMESPACE))["items"]
        return {each["metadata"]["name"]: each["spec"] for each in found}

    def clear(self) -> None:
        """Remove every WebApp and child; the garbage collector may be standing still."""
        for resource in (RESOURCE, *OWNED):
            self.send(Call("DELETE", resource, NAMESPACE))

    def parallel(self) -> ThreadPoolExecutor:
        """As many people at once as create and change WebApps."""
        return ThreadPoolExecutor(_CREATORS)

    def start(self, name: str, command: Sequence[str | Path], env: Mapping[str, str]) -> Process:
        """Start a process of what is measured; `env` goes on top of this process's environment."""
        return self.processes.start(name, command, {**os.environ, **env})

    def start_module(self, name: str, account: str, settings: Mapping[str, str], path: str) -> tuple[Process, str]:
        """Start one of our processes as in a pod and return once `path` answers 200, with its port in `settings`."""
        port = free_port()
        env = {**self.pod(account), **{key: value.format(port=port) for key, value in settings.items()}}
        process = self.start(name, [sys.executable, "-m", _MODULES[account]], env)
        url = f"http://{LOOPBACK}:{port}/"
        deadline = time.monotonic() + _START_SECONDS
        while not _healthy(url + path):
            if process.returncode is not None or time.monotonic() > deadline:
                raise ProcessError(f"{name} does not become ready; its last words:\n{process.tail()}")
            time.sleep(_POLL_SECONDS)
        return process, url

    def kubeconfig(self, account: str) -> Path:
        """A ServiceAccount's kubeconfig, made once."""
        if account not in self._kubeconfigs:
            self._kubeconfigs[account] = self.cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, account)
        return self._kubeconfigs[account]

    def pod(self, account: str) -> dict[str, str]:
        """The environment that makes a process believe it runs in a pod with a ServiceAccount of ours."""
        view = json.loads(self.kubeconfig(account).read_text())
        found = credentials.load({"KUBECONFIG": str(self.cluster.kubeconfig)})
        folder = self.processes.folder / account
        folder.mkdir(exist_ok=True)
        (folder / "token").write_text(view["users"][0]["user"]["token"])
        (folder / "ca.crt").write_bytes(Path(found.tls["ca_certs"]).read_bytes())
        host, port = found.server.removeprefix("https://").rsplit(":", 1)
        return {
            "KUBECONFIG": "",
            "KUBERNETES_SERVICE_HOST": host,
            "KUBERNETES_SERVICE_PORT": port,
            "WEBAPP_SERVICEACCOUNT_DIR": str(folder),
            "POD_NAME": "bench-0",
            "GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.pthread.stack_cache_size=0",
        }


def admin(kubeconfig: Path, connections: int) -> Api:
    """A client for a kubeconfig, without traces."""
    tracer = telemetry.tracer(telemetry.provider("bench", {}))
    where = credentials.load({"KUBECONFIG": str(kubeconfig)})
    return Api(where, tracer, connections=connections, user_agent="webapp-bench")


def name_of(number: int) -> str:
    """The name of the WebApp with that number."""
    return f"app-{number:05d}"


def _healthy(url: str) -> bool:
    try:
        return urllib3.request("GET", url, retries=False, timeout=2.0).status == 200
    except urllib3.exceptions.HTTPError:
        return False
