"""The reconcile function as it is shipped: under gunicorn, with the rights of its ServiceAccount."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from functions.dev.controlplane import ControlPlane
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.cluster.admin import NAMESPACE, Admin
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


@contextmanager
def new_namespace(admin: Admin) -> Iterator[str]:
    """The name of a new namespace; its removal is begun, not awaited."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    admin.create(NAMESPACE, {"metadata": {"name": name}})
    yield name
    admin.delete(NAMESPACE, "", name)


@pytest.fixture
def namespace(admin: Admin) -> Iterator[str]:
    """As in the conftest above, without the time that kubectl takes."""
    with new_namespace(admin) as name:
        yield name


@pytest.fixture
def sender(cluster: ControlPlane, admin: Admin, namespace: str, function: Function) -> Sender:
    """Sends events about the WebApp `web` of the test's namespace."""
    return Sender(cluster, admin, namespace, function)


@pytest.fixture(scope="module")
def shared(cluster: ControlPlane, admin: Admin, function: Function) -> Iterator[Sender]:
    """The same in a namespace that all tests of a file share, for those that leave their WebApp settled."""
    with new_namespace(admin) as name:
        yield Sender(cluster, admin, name, function)
