"""A control plane of its own with Knative's CRDs and webhooks: they intercept what other tests write."""

from collections.abc import Iterator

import pytest

from functions.dev.controlplane import ControlPlane
from tests.knative.webhooks import webhooks


@pytest.fixture(scope="session")
def knative() -> Iterator[ControlPlane]:
    """The control plane; the product's namespaces are there, so that everything else can be tried as a dry run."""
    with ControlPlane() as control_plane, webhooks(control_plane):
        control_plane.install()
        control_plane.kubectl("create", "namespace", "team-a")
        yield control_plane
