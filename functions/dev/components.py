"""The command line of each control plane component, and the fake node."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from functions.dev import audit
from functions.dev.certificates import CertificateAuthority, signing_keys
from functions.dev.processes import LOOPBACK

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok", "stages")
USERS = ("system:kube-controller-manager", "system:kube-scheduler")
"""Users for whom the API server brings roles of its own."""

SERVICE_CIDR = "10.96.0.0/16"
FAKE_NODE = "kwok.x-k8s.io/node"
CLIENT_RATE = ("--kube-api-qps=200", "--kube-api-burst=400")
ROOM = {"cpu": "1000", "memory": "4Ti", "pods": "10000"}
NODE_NAME = "fake"
NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": NODE_NAME, "annotations": {FAKE_NODE: "fake"}},
    "status": {"allocatable": ROOM, "capacity": ROOM},
}


def etcd(programs: Mapping[str, Path], folder: Path, url: str, peer_port: int) -> list[str]:
    """One member without fsync: its data are thrown away."""
    return [
        str(programs["etcd"]),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls=http://{LOOPBACK}:{peer_port}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


@dataclass(frozen=True)
class Authorities:
    """Who signs users' and servers' certificates, and who the certificate by which the API server calls extensions."""

    users: CertificateAuthority
    front_proxy: CertificateAuthority


def apiserver(
    programs: Mapping[str, Path], folder: Path, authorities: Authorities, etcd_url: str, port: int
) -> list[str]:
    """RBAC, aggregation, audit of our ServiceAccounts; writes the keys and files it names into `folder`."""
    hosts = [LOOPBACK, "localhost", "kubernetes.default.svc", "10.96.0.1"]
    serving = authorities.users.issue("kube-apiserver", hosts=hosts)
    front_proxy = authorities.front_proxy.issue("front-proxy-client")
    private, public = signing_keys(folder, "service-account")
    policy = folder / "audit-policy.json"
    policy.write_text(json.dumps(audit.POLICY))
    return [
        str(programs["kube-apiserver"]),
        f"--etcd-servers={etcd_url}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        f"--tls-cert-file={serving.certificate}",
        f"--tls-private-key-file={serving.key}",
        f"--client-ca-file={authorities.users.certificate}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={public}",
        f"--service-account-signing-key-file={private}",
        "--authorization-mode=RBAC",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        f"--requestheader-client-ca-file={authorities.front_proxy.certificate}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-uid-headers=X-Remote-Uid",
        f"--proxy-client-cert-file={front_proxy.certificate}",
        f"--proxy-client-key-file={front_proxy.key}",
        "--enable-aggregator-routing=false",
        f"--audit-policy-file={policy}",
        f"--audit-log-path={folder / 'audit.log'}",
        "--audit-log-maxsize=4096",
        "--profiling=false",
    ]


def apiserver_extra(flags: Iterable[str], admission_plugins: Iterable[str]) -> list[str]:
    """What a caller adds to kube-apiserver's flags."""
    plugins = ",".join(admission_plugins)
    return [*flags, *([f"--enable-admission-plugins={plugins}"] if plugins else [])]


def clients(programs: Mapping[str, Path], folder: Path, kubeconfigs: Mapping[str, Path]) -> dict[str, list[str]]:
    """Commands by name of what works against a running API server."""
    stages = sorted(programs["stages"].glob("*.yaml"))
    return {
        "kube-controller-manager": [
            str(programs["kube-controller-manager"]),
            f"--kubeconfig={kubeconfigs['system:kube-controller-manager']}",
            f"--service-account-private-key-file={folder / 'service-account.key'}",
            f"--root-ca-file={folder / 'ca.crt'}",
            "--use-service-account-credentials",
            "--leader-elect=false",
            "--secure-port=0",
            *CLIENT_RATE,
        ],
        "kube-scheduler": [
            str(programs["kube-scheduler"]),
            f"--kubeconfig={kubeconfigs['system:kube-scheduler']}",
            "--leader-elect=false",
            "--secure-port=0",
            *CLIENT_RATE,
        ],
        "kwok": [
            str(programs["kwok"]),
            f"--kubeconfig={kubeconfigs['admin']}",
            "--manage-all-nodes=false",
            f"--manage-nodes-with-annotation-selector={FAKE_NODE}=fake",
            *(f"--config={stage}" for stage in stages),
        ],
    }
