"""A control plane for trust: its tests replace authorities and count what a ServiceAccount asks."""

import pytest

from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.aggregation.trust.rig import Server


@pytest.fixture(scope="package")
def plane():
    with ControlPlane() as control_plane:
        for name in (SYSTEM_NAMESPACE, "team-a", "team-b"):
            control_plane.kubectl("create", "namespace", name)
        yield control_plane


@pytest.fixture(scope="package")
def group():
    with ProcessGroup() as processes:
        yield processes


@pytest.fixture(scope="package")
def server(plane, group):
    """One replica, registered."""
    found = Server(plane, group)
    found.start()
    found.ready().register()
    return found
