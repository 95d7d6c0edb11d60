"""A control plane of their own for webhooks: in a shared one they would judge everybody's Pods."""

import itertools

import pytest

from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup
from functions.webapp.resources import Resource
from tests.admission.rig import Webhooks
from tests.cluster.admin import NAMESPACE, Admin, until

SERVICE_ACCOUNT = Resource("", "v1", "ServiceAccount", "serviceaccounts")
_numbers = itertools.count()


@pytest.fixture(scope="session")
def plane():
    with ControlPlane() as control_plane:
        control_plane.install()
        yield control_plane


@pytest.fixture(scope="session")
def admin(plane):
    return Admin(plane.kubeconfig)


@pytest.fixture(scope="module")
def webhooks(plane):
    """Both webhooks as shipped, one replica."""
    with ProcessGroup() as group, Webhooks(plane, group) as running:
        yield running


@pytest.fixture(scope="session")
def make_namespace(admin):
    """`make_namespace({"label": "value"}, name="...")`: a new namespace in which Pods can be created."""

    def make(labels=None, name=""):
        name = name or f"admission-{next(_numbers)}"
        admin.create(NAMESPACE, {"metadata": {"name": name, "labels": labels or {}}})
        until(lambda: admin.find(SERVICE_ACCOUNT, name, "default"))
        return name

    return make


@pytest.fixture
def plain(make_namespace):
    """A namespace that wants nothing."""
    return make_namespace()


@pytest.fixture
def opted_in(make_namespace):
    """A namespace that wants sidecars."""
    return make_namespace({"sidecar-injection": "enabled"})
