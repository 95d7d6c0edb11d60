"""An aggregated API before a real API server: a process for each replica, a balancer for the Service."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

from functions.dev.certificates import CertificateAuthority
from functions.dev.processes import LOOPBACK, Process, free_port
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.admission.balancer import Balancer, ready
from tests.cluster.admin import until

START_SECONDS = 120.0


class AggregatedApi:
    """`module` in `replicas` processes, registered for the group and version of `resource`."""

    def __init__(self, plane, group, service, resource, module, *, replicas=1, **environ):
        self.plane, self.group, self.service, self.resource = plane, group, service, resource
        self._module, self._replicas, self._environ = module, replicas, environ
        self.folder = group.folder / service
        self.folder.mkdir()
        self.authority = CertificateAuthority(self.folder, "serving-ca")
        self.backends: dict[int, int] = {}
        self.balancer = Balancer(self.backends)
        self.processes: dict[int, Process] = {}
        self._numbers = iter(range(1000))

    @property
    def registration(self):
        return f"{self.resource.version}.{self.resource.group}"

    def __enter__(self):
        self.balancer.__enter__()
        pair = self.authority.issue("serving", hosts=[f"{self.service}.{SYSTEM_NAMESPACE}.svc"])
        shutil.copyfile(pair.key, self.folder / "tls.key")
        shutil.copyfile(pair.certificate, self.folder / "tls.crt")
        self.plane.apply(_roles(self.service, self.resource))
        self.start(self._replicas)
        self.register()
        return self

    def __exit__(self, *_):
        self.plane.kubectl("delete", f"apiservice/{self.registration}")
        self.stop(*self.processes)
        self.balancer.__exit__()

    def start(self, count=1):
        """More replicas, started at once; returns their ports when they are ready."""
        begun = [self._begin() for _ in range(count)]
        for port, (process, health) in begun:
            process.wait_until(lambda health=health: ready(health), START_SECONDS)
            self.processes[port] = process
            self.backends[port] = health
        for port, (process, _) in begun:
            process.wait_until(lambda port=port: port in self.balancer._ready)
        return [port for port, _ in begun]

    def _begin(self):
        port, health = free_port(), free_port()
        account = self.plane.service_account_kubeconfig(SYSTEM_NAMESPACE, self.service)
        env = {
            **os.environ,
            "KUBECONFIG": str(account),
            "PORT": str(port),
            "HEALTH_PORT": str(health),
            "TLS_CERT_FILE": str(self.folder / "tls.crt"),
            "TLS_KEY_FILE": str(self.folder / "tls.key"),
            "DRAIN_SECONDS": "1",
            **self._environ,
        }
        command = [sys.executable, "-m", self._module]
        return port, (self.group.start(f"{self.service}-{next(self._numbers)}", command, env), health)

    def stop(self, *ports, grace=15.0):
        """SIGTERM to all at once, and the end of these processes."""
        stopping = [self.processes.pop(port) for port in ports]
        for process in stopping:
            process.signal(signal.SIGTERM)
        for process in stopping:
            process.stop(grace)
        for port in ports:
            self.backends.pop(port)

    def restart(self):
        """All replicas; new ones are ready first."""
        old = list(self.processes)
        self.start(len(old))
        self.stop(*old)

    def register(self):
        """Service and APIService; returns once kubectl's discovery knows the resource."""
        metadata = {"name": self.service, "namespace": SYSTEM_NAMESPACE}
        port = self.balancer.port
        spec = {"type": "ExternalName", "externalName": "localhost", "ports": [{"name": "https", "port": port}]}
        api = {
            "group": self.resource.group,
            "version": self.resource.version,
            "groupPriorityMinimum": 1000,
            "versionPriority": 10,
            "caBundle": base64.b64encode(self.authority.certificate.read_bytes()).decode(),
            "service": {**metadata, "port": port},
        }
        service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
        registration = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
        self.plane.apply([service, {**registration, "metadata": {"name": self.registration}, "spec": api}])
        self.plane.kubectl("wait", "--for=condition=Available", f"apiservice/{self.registration}", "--timeout=60s")
        until(lambda: self.resource.plural in self.plane.kubectl("api-resources", "-o", "name"))
        until(lambda: f"apis/{self.resource.api_version}" in self.get("/openapi/v3")["paths"])

    @contextmanager
    def following(self, *args):
        """`kubectl` with `args`, whose watch is the only one that runs; see Following."""
        until(lambda: not self.metric("webapp_aggregation_watches"))
        with Following(self.plane, *args) as found:
            until(lambda: self.metric("webapp_aggregation_watches"))
            yield found

    def get(self, path):
        """A GET through the aggregator, by kubectl."""
        return json.loads(self.plane.kubectl("get", "--raw", path))

    def metric(self, name, **labels):
        """The sum over all replicas of a metric's samples that have these labels."""
        total = 0.0
        for health in self.backends.values():
            with urllib.request.urlopen(f"http://{LOOPBACK}:{health}/metrics") as answer:
                for line in answer.read().decode().splitlines():
                    head, _, value = line.rpartition(" ")
                    if head.partition("{")[0] == name and all(
                        f'{key}="{each}"' in head for key, each in labels.items()
                    ):
                        total += float(value)
        return total


class Following:
    """`kubectl` that runs until it is stopped; `lines()` is what it has printed by now."""

    def __init__(self, cluster, *args):
        self._output = cluster.folder / f"following-{time.monotonic_ns()}"
        command = [str(cluster._kubectl), "--kubeconfig", str(cluster.kubeconfig), *args]
        env = {**os.environ, "KUBECACHEDIR": str(cluster.folder / "kubectl-cache")}
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=env)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()

    def lines(self):
        return self._output.read_text().splitlines()

    def wait_ended(self, seconds=30.0):
        """The exit code of a kubectl that ends by itself."""
        return self._process.wait(seconds)


def _roles(service, resource):
    subjects = [{"kind": "ServiceAccount", "name": service, "namespace": SYSTEM_NAMESPACE}]
    rbac, api = "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io"
    delegator = {"apiGroup": api, "kind": "ClusterRole", "name": "system:auth-delegator"}
    reader = {"apiGroup": api, "kind": "Role", "name": "extension-apiserver-authentication-reader"}
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": service, "namespace": SYSTEM_NAMESPACE},
        },
        {
            "apiVersion": rbac,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": service},
            "roleRef": delegator,
            "subjects": subjects,
        },
        {
            "apiVersion": rbac,
            "kind": "RoleBinding",
            "metadata": {"name": service, "namespace": "kube-system"},
            "roleRef": reader,
            "subjects": subjects,
        },
    ]
