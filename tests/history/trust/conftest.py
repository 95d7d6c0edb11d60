"""A control plane whose APIService these tests break and mend."""

import pytest

from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup
from tests.cluster.admin import Admin


@pytest.fixture(scope="package")
def plane():
    with ControlPlane() as control_plane:
        control_plane.install()
        yield control_plane


@pytest.fixture(scope="package")
def admin(plane):
    return Admin(plane.kubeconfig)


@pytest.fixture
def group():
    with ProcessGroup(grace=1) as processes:
        yield processes
