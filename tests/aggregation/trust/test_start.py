"""A server that could trust nobody does not start, and says why; what is lost later changes nothing but its log."""

import pytest

from functions.aggregation.requestheader import NAME, NAMESPACE
from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.aggregation.trust.rig import CONFIG_MAP, Server
from tests.cluster.admin import Admin, until

ROOT = [("X-Remote-User", "root"), ("X-Remote-Group", "system:masters")]
NEVER_AGAIN = f"""
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: never-again}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}}]
  validations: [{{expression: "object.metadata.name != '{NAME}'"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: never-again}}
spec: {{policyName: never-again, validationActions: [Deny]}}
"""


@pytest.fixture(scope="module")
def bare():
    """kube-apiserver without its requestheader flags."""
    flags = ("client-ca-file", "username-headers", "group-headers", "extra-headers-prefix", "uid-headers")
    none = [f"--requestheader-{flag}=" for flag in (*flags, "allowed-names")]
    with ControlPlane(apiserver_flags=none) as plane:
        plane.kubectl("create", "namespace", SYSTEM_NAMESPACE)
        yield plane


@pytest.fixture(scope="module")
def processes():
    with ProcessGroup() as processes:
        yield processes


def last_words(server):
    """Of a server that ends by itself."""
    process = server.start()
    assert process.wait(60) == 1
    return process.tail()


def test_cluster_without_the_flags_is_told_which_ones(bare, processes):
    told = last_words(Server(bare, processes))
    assert f"ConfigMap {NAMESPACE}/{NAME} does not say how the front proxy is recognised" in told
    for flag in ("client-ca-file", "username-headers", "group-headers", "extra-headers-prefix"):
        assert f"--requestheader-{flag}" in told


def test_cluster_without_the_config_map_is_told_who_writes_it(bare, processes):
    server, admin = Server(bare, processes), Admin(bare.kubeconfig)
    bare.apply(NEVER_AGAIN)  # kube-apiserver would have it back at once

    told = ""

    def lost():
        nonlocal told
        if admin.find(CONFIG_MAP, NAMESPACE, NAME):
            admin.delete(CONFIG_MAP, NAMESPACE, NAME)
        told = last_words(server)
        return f"ConfigMap {NAMESPACE}/{NAME} is not there" in told

    until(lost)
    assert "--requestheader-client-ca-file" in told


def test_server_that_may_not_read_the_config_map_is_told_what_to_bind(bare, processes):
    server = Server(bare, processes)
    bare.kubectl("-n", NAMESPACE, "delete", "rolebinding", "whoami")
    until(lambda: "may not be read: bind the Role extension-apiserver-authentication-reader" in last_words(server), 60)


def test_config_map_that_is_lost_or_spoilt_later_changes_nothing_but_the_log(plane, server, tmp_path):
    admin = Admin(plane.kubeconfig)
    pair = plane.authorities.front_proxy.issue("front-proxy-client", folder=tmp_path)
    before = admin.get(CONFIG_MAP, NAMESPACE, NAME)["data"]
    log = server.process.log

    admin.merge(CONFIG_MAP, NAMESPACE, NAME, {"data": {"requestheader-allowed-names": "nonsense"}})
    until(lambda: "new terms cannot be used" in log.read_text())
    assert server.direct(ROOT, pair)[0] == 200
    admin.delete(CONFIG_MAP, NAMESPACE, NAME)
    until(lambda: admin.find(CONFIG_MAP, NAMESPACE, NAME), 90)
    assert server.direct(ROOT, pair)[0] == 200

    admin.merge(CONFIG_MAP, NAMESPACE, NAME, {"data": {**before, "requestheader-allowed-names": '["nobody"]'}})
    until(lambda: server.direct(ROOT, pair)[0] == 401, 60)
    admin.merge(CONFIG_MAP, NAMESPACE, NAME, {"data": before})
    until(lambda: server.direct(ROOT, pair)[0] == 200, 60)
