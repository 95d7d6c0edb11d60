"""The local control plane, by what a user of a cluster sees of it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from functions.dev.cluster import ExistingCluster, KubectlError
from functions.dev.controlplane import ControlPlane
from functions.dev.toolchain import Toolchain
from tests.process_table import group_is_gone

HOLD = """
import signal
from functions.dev.controlplane import ControlPlane
with ControlPlane() as cluster:
    print(cluster.folder, flush=True)
    signal.pause()
"""


def create_configmap(cluster: ControlPlane, namespace: str, name: str) -> str:
    """Create one and give its resourceVersion."""
    cluster.kubectl("create", "configmap", name, "-n", namespace)
    return cluster.kubectl("get", "configmap", name, "-n", namespace, "-o", "jsonpath={.metadata.resourceVersion}")


def test_deployment_becomes_available(cluster, namespace):
    cluster.kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2", "-n", namespace)
    cluster.kubectl("wait", "--for=condition=Available", "deployment/web", "-n", namespace, "--timeout=30s")
    deployment = json.loads(cluster.kubectl("get", "deployment", "web", "-n", namespace, "-o", "json"))
    assert deployment["status"]["readyReplicas"] == 2


def test_version_is_the_one_that_go_mod_pins(cluster):
    version = json.loads(cluster.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
    go_mod = Toolchain.from_environment().modules / "kubernetes" / "go.mod"
    assert f"k8s.io/kubernetes {version}\n" in go_mod.read_text()


def test_api_server_restart_keeps_state_and_port(cluster, namespace):
    version = create_configmap(cluster, namespace, "kept")
    cluster.stop_apiserver()
    with pytest.raises(KubectlError, match="refused"):
        cluster.kubectl("get", "configmap", "kept", "-n", namespace)
    cluster.start_apiserver()
    jsonpath = "jsonpath={.metadata.resourceVersion}"
    assert cluster.kubectl("get", "configmap", "kept", "-n", namespace, "-o", jsonpath) == version


def test_started_api_server_serves_custom_resources_at_once(cluster, audit):
    bridge = cluster.service_account_kubeconfig("webapp-system", "webapp-bridge")
    cluster.stop_apiserver()
    cluster.start_apiserver()
    cluster.kubectl("get", "--raw", "/apis/platform.example.com/v1/webapps", kubeconfig=bridge)
    assert [event["responseStatus"]["code"] for event in audit("webapp-bridge")] == [200]


def test_compaction_makes_old_revisions_gone(cluster, namespace):
    old = create_configmap(cluster, namespace, "before")
    create_configmap(cluster, namespace, "after")
    watch = f"/api/v1/namespaces/{namespace}/configmaps?watch=1&timeoutSeconds=1&resourceVersion={old}"
    exact = f"/api/v1/namespaces/{namespace}/configmaps?resourceVersionMatch=Exact&resourceVersion={old}"
    assert '"code":410' not in cluster.kubectl("get", "--raw", watch)
    assert "before" in cluster.kubectl("get", "--raw", exact)
    cluster.compact()
    assert '"code":410' in cluster.kubectl("get", "--raw", watch)
    with pytest.raises(KubectlError, match="Expired"):
        cluster.kubectl("get", "--raw", exact)


def test_audit_counts_the_requests_of_one_service_account(cluster, audit):
    bridge = cluster.service_account_kubeconfig("webapp-system", "webapp-bridge")
    cluster.kubectl("get", "--raw", "/apis/platform.example.com/v1/webapps", kubeconfig=bridge)
    cluster.kubectl("get", "--raw", "/apis/platform.example.com/v1/webapps")
    with pytest.raises(KubectlError, match="forbidden"):
        cluster.kubectl("get", "--raw", "/api/v1/secrets", kubeconfig=bridge)
    seen = [(event["requestURI"], event["responseStatus"]["code"]) for event in audit("webapp-bridge")]
    assert seen == [("/apis/platform.example.com/v1/webapps", 200), ("/api/v1/secrets", 403)]
    assert audit("webapp-bridge", since=cluster.mark()) == []


def test_existing_cluster_is_used_through_its_kubeconfig(cluster, namespace):
    with ExistingCluster(cluster.kubeconfig) as existing:
        existing.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": namespace}})
        reconciler = existing.service_account_kubeconfig("webapp-system", "webapp-reconciler")
        who = existing.kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}", kubeconfig=reconciler)
    assert who == "system:serviceaccount:webapp-system:webapp-reconciler"
    assert "x" in cluster.kubectl("get", "configmap", "-n", namespace)
    assert not existing.folder.exists()


def test_flags_and_admission_plugins_reach_the_api_server_and_another_group_is_served():
    with ControlPlane(
        apiserver_flags=["--max-requests-inflight=321"], admission_plugins=["OwnerReferencesPermissionEnforcement"]
    ) as other:
        other.install("mycompany.com")
        command = Path(f"/proc/{other.process('kube-apiserver').pid}/cmdline").read_text().split("\0")
        resources = other.kubectl("api-resources", "--api-group=mycompany.com", "--no-headers", "-o", "name")
        may = other.kubectl("auth", "can-i", "--list", "--as=system:serviceaccount:webapp-system:webapp-bridge")
    assert {"--max-requests-inflight=321", "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"} <= {
        *command
    }
    assert resources == "webapps.mycompany.com\n"
    assert "webapps.mycompany.com" in may
    assert "platform.example.com" not in may


def test_nothing_is_left_when_the_parent_is_killed():
    holder = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout
        folder = Path(holder.stdout.readline().strip())
        assert folder.is_dir()
        holder.send_signal(signal.SIGKILL)
    assert group_is_gone(folder)
    assert not folder.exists()
