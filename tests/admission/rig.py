"""The shipped admission webhooks before a real API server: processes for Pods, a balancer for the Service."""

import base64
import json
import os
import shutil
import signal
import socket
import ssl
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path

import yaml
from cryptography import x509
from opentelemetry.sdk.trace import TracerProvider

from functions.certs.command import Run
from functions.certs.store import Store
from functions.dev.processes import LOOPBACK, Process, free_port
from functions.runtime import credentials, kube
from functions.runtime.kube import Call
from functions.webapp.errors import AdmissionDenied
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.admission.balancer import Balancer, ready
from tests.cluster.admin import POD, until

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = ROOT / "knative" / "extensions" / "admission"
SERVICE = "webapp-admission"
PROBE = "admission-probe"
START_SECONDS = 120.0  # a start takes 0.6 s of CPU, of which a busy machine gives little


def api(cluster, connections=8):
    """A client of the admin."""
    who = credentials.load({"KUBECONFIG": str(cluster.kubeconfig)})
    return kube.Api(
        who, TracerProvider(shutdown_on_exit=False).get_tracer("tests"), connections=connections, user_agent="tests"
    )


def shipped(cluster, overlay="."):
    """The manifests as kustomize builds them."""
    return list(yaml.safe_load_all(cluster.kubectl("kustomize", str(MANIFESTS / overlay))))


def service(name, port):
    """A Service that leads the API server to a port of this machine."""
    spec = {"type": "ExternalName", "externalName": "localhost", "ports": [{"name": "https", "port": port}]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": SYSTEM_NAMESPACE},
        "spec": spec,
    }


def probe(flag, container_flag=None):
    """A Pod that needs no ServiceAccount to be there."""
    container = {"name": "c", "image": "c", "securityContext": {"runAsNonRoot": container_flag}}
    spec = {"containers": [container], "securityContext": {"runAsNonRoot": flag}}
    return {"metadata": {"name": "probe"}, "spec": {**spec, "automountServiceAccountToken": False}}


class Webhooks:
    """`replicas` processes, registered by the shipped configurations."""

    def __init__(self, cluster, group, *, replicas=1, drain=2, strict=False):
        self.cluster, self.group, self.drain = cluster, group, drain
        self.folder = group.folder
        self._strict = strict
        self.backends: dict[int, int] = {}
        self.processes: dict[str, Process] = {}
        self.balancer = Balancer(self.backends)
        self.api = api(cluster)
        self.run = Run(Store(self.api, SYSTEM_NAMESPACE), SYSTEM_NAMESPACE, [SERVICE], settle=1.0)
        self._numbers = iter(range(1000))
        self._sidecar = self.folder / "sidecar.yaml"
        shutil.copyfile(MANIFESTS / "base" / "sidecar.yaml", self._sidecar)
        self._replicas = replicas
        self._compliant = probe(None if strict else True, container_flag=True if strict else None)

    def __enter__(self):
        self.balancer.__enter__()
        self.register()
        self.mount()
        for _ in range(self._replicas):
            self.start()
        self.wait_asked()
        return self

    def __exit__(self, *_):
        for configuration in (
            "mutatingwebhookconfiguration/webapp-sidecar",
            "validatingwebhookconfiguration/webapp-guard",
        ):
            self.cluster.kubectl("delete", configuration, "--ignore-not-found")
        self.signal(signal.SIGKILL)
        self.balancer.__exit__()
        self.api.close()

    def register(self, change=lambda _webhook: None):
        """Apply Service and configurations, the Service led to the balancer, then certificates for them."""
        wanted = [each for each in shipped(self.cluster) if each["kind"].endswith("WebhookConfiguration")]
        for configuration in wanted:
            for webhook in configuration["webhooks"]:
                webhook["clientConfig"]["service"]["port"] = self.balancer.port
                change(webhook)
        self.cluster.apply([service(SERVICE, self.balancer.port), *wanted])
        return self.run.certify()

    def wait_asked(self):
        """The API server hears of configurations by watches: rehearse until both webhooks have their say."""
        labels = {"sidecar-injection": "enabled"}
        self.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PROBE, "labels": labels}})
        refused, injected = probe(None), self._compliant
        until(lambda: self._rehearsed(refused) is None and self._rehearsed(injected)["spec"].get("initContainers"))

    def _rehearsed(self, pod):
        try:
            return self.api.send(Call("POST", POD, PROBE, body=pod).dry())
        except AdmissionDenied:
            return None

    def mount(self):
        """What the kubelet does with a Secret: its files, replaced."""
        secret = json.loads(
            self.cluster.kubectl("get", "secret", f"{SERVICE}-tls", "-n", SYSTEM_NAMESPACE, "-o", "json")
        )
        for name in ("tls.key", "tls.crt"):
            fresh = self.folder / f"{name}.new"
            fresh.write_bytes(base64.b64decode(secret["data"][name]))
            fresh.rename(self.folder / name)

    def start(self):
        """One more replica; returns its name once it is ready."""
        name = f"admission-{next(self._numbers)}"
        port, health = free_port(), free_port()
        env = {
            **os.environ,
            "PORT": str(port),
            "HEALTH_PORT": str(health),
            "TLS_CERT_FILE": str(self.folder / "tls.crt"),
            "TLS_KEY_FILE": str(self.folder / "tls.key"),
            "SIDECAR_TEMPLATE": str(self._sidecar),
            "DRAIN_SECONDS": str(self.drain),
            "GUARD_STRICT": str(self._strict).lower(),
        }
        process = self.group.start(name, [sys.executable, "-m", "functions.admission"], env)
        process.wait_until(lambda: ready(health), START_SECONDS)
        self.processes[name] = process
        self.backends[port] = health
        self.balancer_knows(port)
        return name

    def balancer_knows(self, port):
        self.processes[next(reversed(self.processes))].wait_until(lambda: port in self.balancer._ready)

    def certifying(self, terms):
        """`webapp certs` on other terms."""
        return replace(self.run, terms=terms)

    def serials(self):
        """Serial numbers of the certificates that the replicas serve now."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        found = set()
        for port, health in self.backends.items():
            if ready(health):
                with socket.create_connection((LOOPBACK, port)) as plain, context.wrap_socket(plain) as secure:
                    der = secure.getpeercert(binary_form=True) or b""
                found.add(x509.load_der_x509_certificate(der).serial_number)
        return found

    def signal(self, number):
        """To every process of every replica, as for a node that is gone (SIGKILL) or hangs (SIGSTOP)."""
        for process in self.processes.values():
            if process.returncode is None:
                workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                for pid in (process.pid, *map(int, workers)):
                    os.kill(pid, number)

    def decisions(self):
        """The counter of every replica: (webhook, operation, decision, reason) -> how often, zeros left out."""
        found: dict[tuple[str, ...], int] = {}
        for health in self.backends.values():
            if not ready(health):
                continue
            with urllib.request.urlopen(f"http://{LOOPBACK}:{health}/metrics") as answer:
                for line in answer.read().decode().splitlines():
                    if line.startswith("webapp_admission_decisions_total{"):
                        labels, _, value = line.partition("{")[2].rpartition("} ")
                        key = {part.split("=")[0]: part.split('"')[1] for part in labels.split(",")}
                        name = tuple(key[each] for each in ("webhook", "operation", "decision", "reason"))
                        found[name] = found.get(name, 0) + int(float(value))
        return {key: value for key, value in found.items() if value}
