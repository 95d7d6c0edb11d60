"""A server behind the real aggregator, and callers who come to it without."""

from __future__ import annotations

import base64
import http.client
import json
import os
import shutil
import socket
import ssl
import sys
import uuid
from pathlib import Path

from functions.dev import kubeconfig
from functions.dev.certificates import CertificateAuthority
from functions.dev.processes import LOOPBACK, free_port
from functions.webapp.resources import SYSTEM_NAMESPACE, Resource
from tests.admission.balancer import ready
from tests.aggregation.trust.whoami import SERVICE, WHOAMI
from tests.cluster.admin import until

API_SERVICE = Resource("apiregistration.k8s.io", "v1", "APIService", "apiservices")
CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps")
HOST = f"{SERVICE}.{SYSTEM_NAMESPACE}.svc"
ACCOUNT = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{SERVICE}"
REGISTERED = f"{WHOAMI.version}.{WHOAMI.group}"
ME = WHOAMI.path("team-a", "me")
ROLES = f"""
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {SERVICE}, namespace: {SYSTEM_NAMESPACE}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {SERVICE}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:auth-delegator"}}
subjects: [{{kind: ServiceAccount, name: {SERVICE}, namespace: {SYSTEM_NAMESPACE}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: {SERVICE}, namespace: kube-system}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}}
subjects: [{{kind: ServiceAccount, name: {SERVICE}, namespace: {SYSTEM_NAMESPACE}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: {SERVICE}-reader}}
rules: [{{apiGroups: [{WHOAMI.group}], resources: [{WHOAMI.plural}], verbs: [get]}}]
"""


class Server:
    """One replica of `whoami`, its serving certificate of an authority of its own."""

    def __init__(self, plane, group, roles=True):
        self.plane, self.group = plane, group
        self.folder = group.folder
        self.authority = CertificateAuthority(self.folder, "serving-ca")
        self.certify("serving-1")
        if roles:
            plane.apply(ROLES)
        self.port, self.health = free_port(), free_port()

    def certify(self, name):
        """A new serving certificate, as the kubelet would put it there."""
        pair = self.authority.issue(name, hosts=[HOST])
        shutil.copyfile(pair.key, self.folder / "tls.key")
        shutil.copyfile(pair.certificate, self.folder / "tls.crt")

    def environ(self):
        account = self.plane.service_account_kubeconfig(SYSTEM_NAMESPACE, SERVICE)
        return {
            **os.environ,
            "KUBECONFIG": str(account),
            "PORT": str(self.port),
            "HEALTH_PORT": str(self.health),
            "TLS_CERT_FILE": str(self.folder / "tls.crt"),
            "TLS_KEY_FILE": str(self.folder / "tls.key"),
            "DRAIN_SECONDS": "0",
        }

    def start(self, **environ):
        name = f"whoami-{uuid.uuid4().hex[:6]}"
        command = [sys.executable, "-m", "tests.aggregation.trust.whoami"]
        self.process = self.group.start(name, command, {**self.environ(), **environ})
        return self.process

    def ready(self):
        self.process.wait_until(lambda: ready(self.health), 60)
        return self

    def register(self):
        """Service and APIService; returns once the aggregator calls it available."""
        spec = {"type": "ExternalName", "externalName": "localhost", "ports": [{"name": "https", "port": self.port}]}
        metadata = {"name": SERVICE, "namespace": SYSTEM_NAMESPACE}
        bundle = base64.b64encode(self.authority.certificate.read_bytes()).decode()
        api = {
            "group": WHOAMI.group,
            "version": WHOAMI.version,
            "groupPriorityMinimum": 1000,
            "versionPriority": 10,
            "caBundle": bundle,
            "service": {**metadata, "port": self.port},
        }
        service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
        registration = {"apiVersion": API_SERVICE.api_version, "kind": "APIService", "metadata": {"name": REGISTERED}}
        self.plane.apply([service, {**registration, "spec": api}])
        self.plane.kubectl("wait", "--for=condition=Available", f"apiservice/{REGISTERED}", "--timeout=60s")
        until(lambda: SERVICE in self.plane.kubectl("api-resources", f"--api-group={WHOAMI.group}", "--no-headers"))

    def direct(self, headers=(), certificate=None, path=ME):
        """Status and body of a call that does not come through kube-apiserver; `headers` may repeat names."""
        with self.connect(certificate) as connection:
            return ask(connection, headers, path)

    def connect(self, certificate=None):
        """A TLS connection, with a client certificate where there is one."""
        context = ssl.create_default_context(cafile=self.authority.certificate)
        if certificate:
            context.load_cert_chain(certificate.certificate, certificate.key)
        plain = socket.create_connection((LOOPBACK, self.port), 10)
        return context.wrap_socket(plain, server_hostname=HOST)


def ask(connection, headers=(), path=ME):
    """One request on an open connection."""
    client = http.client.HTTPConnection(HOST)
    client.sock = connection
    client.putrequest("GET", path)
    for name, value in headers:
        client.putheader(name, value)
    client.endheaders()
    answer = client.getresponse()
    return answer.status, json.loads(answer.read())


def user_kubeconfig(plane, name, groups=()):
    """A kubeconfig of a user with a certificate of the cluster's client authority."""
    pair = plane.authorities.users.issue(name, groups)
    view = json.loads(plane.kubectl("config", "view", "--raw", "--minify", "--flatten", "--output", "json"))
    path = Path(plane.folder) / f"{name}.user.kubeconfig"
    return kubeconfig.write(path, view["clusters"][0]["cluster"], kubeconfig.certificate_user(pair), name)
