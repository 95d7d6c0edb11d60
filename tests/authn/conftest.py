"""A control plane that asks the webhook, a provider for the webhook to ask, and what stands between them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from functions.dev import kubeconfig
from functions.dev.certificates import CertificateAuthority
from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup, free_port
from tests.authn.front import Front
from tests.authn.hydra import API_AUDIENCES, PATH, Hook, Hydra
from tests.authn.webhook import Users, Webhook


@pytest.fixture(scope="session")
def group():
    with ProcessGroup(grace=1.0) as processes:
        yield processes


@pytest.fixture(scope="session")
def authority(group):
    return CertificateAuthority(group.folder, "authn-ca")


@pytest.fixture(scope="session")
def hydra(group):
    with Hook() as hook:
        yield Hydra(group, hook)


@pytest.fixture
def front(hydra, authority):
    """Before Hydra; counts the calls."""
    with Front(hydra.admin, PATH, authority.issue("front", hosts=["127.0.0.1"])) as made:
        yield made


@pytest.fixture(scope="session")
def shipped(group, authority):
    """The webhook on the port that the API server knows; tests start it, each anew."""
    return Webhook(group, authority, free_port(), group.folder)


@pytest.fixture
def webhook(shipped):
    yield shipped
    shipped.stop()


def control_plane(webhook, version="v1"):
    """A control plane whose API server asks the webhook and caches for two seconds."""
    path = kubeconfig.write(
        webhook.folder / f"webhook-{version}.kubeconfig",
        kubeconfig.cluster(webhook.url, webhook.authority.certificate),
        kubeconfig.certificate_user(webhook.caller),
        "kube-apiserver",
    )
    return ControlPlane(
        apiserver_flags=[
            f"--authentication-token-webhook-config-file={path}",
            f"--authentication-token-webhook-version={version}",
            "--authentication-token-webhook-cache-ttl=2s",
            f"--api-audiences={','.join(API_AUDIENCES)}",
        ]
    )


@pytest.fixture(scope="session")
def plane(shipped):
    with control_plane(shipped) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def users(plane):
    return Users(plane)


@pytest.fixture
def as_user(plane, tmp_path):
    """`as_user(token, "auth", "whoami")`: kubectl as the bearer of a token."""

    def kubectl(token, *args):
        path = Path(tmp_path / "user.kubeconfig")
        cluster = kubeconfig.cluster(plane.server, plane.folder / "ca.crt")
        kubeconfig.write(path, cluster, {"token": token}, "user")
        return plane.kubectl(*args, kubeconfig=path)

    yield kubectl
    shutil.rmtree(tmp_path, ignore_errors=True)
