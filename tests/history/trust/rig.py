"""The history as it is shipped: its rights, its registration and `webapp certs`; processes stand in for its Pods."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import ssl
from pathlib import Path

import yaml
from cryptography import x509

from functions.certs.command import Run
from functions.certs.store import Store
from functions.dev.processes import LOOPBACK
from functions.history.record import resource
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.admission.rig import api
from tests.aggregation.rig import AggregatedApi
from tests.cluster.admin import until

SHIPPED = Path(__file__).resolve().parents[3] / "knative" / "extensions" / "history"
SERVICE = "webapp-history"
RECONCILES = resource()
ALL = RECONCILES.path("")
REGISTRATION = f"{RECONCILES.version}.{RECONCILES.group}"


class History(AggregatedApi):
    """`replicas` of the API server on a SQLite file; none is not waited for."""

    def __init__(self, plane, group, *, replicas=2, **environ):
        database = f"sqlite:///{group.folder}/history.db"
        environ = {"HISTORY_DATABASE_URL": database, **environ}
        super().__init__(plane, group, SERVICE, RECONCILES, "functions.history.apiserver", replicas=replicas, **environ)
        self.run = Run(Store(api(plane), SYSTEM_NAMESPACE), SYSTEM_NAMESPACE, [SERVICE], settle=1.0)

    def __enter__(self):
        self.balancer.__enter__()
        self.plane.apply((SHIPPED / "base" / "rbac.yaml").read_text())
        self.run.certify()
        self.mount()
        for _ in range(self._replicas):
            self.start()
        self.register()
        return self

    def mount(self):
        """What the kubelet does with a Secret: its files, replaced."""
        secret = json.loads(self.plane.kubectl("get", "secret", f"{SERVICE}-tls", "-n", SYSTEM_NAMESPACE, "-o", "json"))
        for name in ("tls.key", "tls.crt"):
            fresh = self.folder / f"{name}.new"
            fresh.write_bytes(base64.b64decode(secret["data"][name]))
            fresh.rename(self.folder / name)

    def register(self):
        """The shipped APIService, led to the balancer."""
        registration = yaml.safe_load((SHIPPED / "apiservice" / "apiservice.yaml").read_text())
        registration["spec"]["service"]["port"] = self.balancer.port
        self.plane.apply([service(self.balancer.port), registration])
        self.run.certify()
        self.plane.kubectl("wait", "--for=condition=Available", f"apiservice/{REGISTRATION}", "--timeout=60s")
        until(lambda: RECONCILES.plural in self.plane.kubectl("api-resources", "-o", "name"))

    def kill(self):
        """All replicas at once, as when their nodes are gone."""
        for port, process in list(self.processes.items()):
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for pid in (process.pid, *map(int, children)):
                os.kill(pid, signal.SIGKILL)
            process.wait(10)
            del self.processes[port], self.backends[port]

    def serials(self):
        """Serial numbers of the certificates that the replicas serve now."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        found = set()
        for port in self.backends:
            with socket.create_connection((LOOPBACK, port)) as plain, context.wrap_socket(plain) as secure:
                found.add(x509.load_der_x509_certificate(secure.getpeercert(binary_form=True) or b"").serial_number)
        return found

    def available(self):
        """Status and time of the last change of the condition."""
        found = json.loads(self.plane.kubectl("get", f"apiservice/{REGISTRATION}", "-o", "json"))
        (condition,) = [each for each in found["status"]["conditions"] if each["type"] == "Available"]
        return condition["status"], condition["lastTransitionTime"], condition["reason"]


def service(port):
    """A Service that leads the API server to a port of this machine."""
    spec = {"type": "ExternalName", "externalName": "localhost", "ports": [{"name": "https", "port": port}]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": SYSTEM_NAMESPACE},
        "spec": spec,
    }
