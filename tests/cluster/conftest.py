"""The reconcile function as it is shipped: under gunicorn, with the rights of its ServiceAccount."""

from collections.abc import Iterator

import pytest

from functions.dev.controlplane import ControlPlane
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.cluster.admin import Admin
from tests.cluster.sender import Function, Sender, running


@pytest.fixture(scope="session")
def admin(cluster: ControlPlane) -> Admin:
    """The admin of the shared control plane."""
    return Admin(cluster.kubeconfig)


@pytest.fixture(scope="session")
def function(cluster: ControlPlane) -> Iterator[Function]:
    """One function for all tests that leave it running."""
    with running(cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, "webapp-reconciler")) as found:
        yield found


@pytest.fixture
def sender(cluster: ControlPlane, admin: Admin, namespace: str, function: Function) -> Sender:
    """Sends events about the WebApp `web` of the test's namespace."""
    return Sender(cluster, admin, namespace, function)
