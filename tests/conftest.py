"""One control plane for the whole run, and what a test needs of it."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

from functions.dev.controlplane import ControlPlane
from functions.webapp.resources import SYSTEM_NAMESPACE

settings.register_profile("untimed", deadline=None)  # how long an example takes is the machine's business
settings.load_profile("untimed")

Audit = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="session")
def cluster() -> Iterator[ControlPlane]:
    """A control plane with WebApps installed; a test that stops its parts starts them again."""
    with ControlPlane() as control_plane:
        control_plane.install()
        yield control_plane


@pytest.fixture
def namespace(cluster: ControlPlane) -> Iterator[str]:
    """The name of a new namespace; its removal is begun, not awaited."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def audit(cluster: ControlPlane) -> Audit:
    """`audit("webapp-reconciler")`: audit events of that ServiceAccount's requests since the test began, or `since`."""
    beginning = cluster.mark()

    def requests(service_account: str, since: int = beginning) -> list[dict[str, Any]]:
        return cluster.audit(f"system:serviceaccount:{SYSTEM_NAMESPACE}:{service_account}", since)

    return requests
