"""A control plane of its own with Knative's CRDs and webhooks: they intercept what other tests write."""

import json
import urllib.parse
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from functions.dev import kubeconfig
from functions.dev.controlplane import ControlPlane
from functions.dev.operator import Operator
from functions.dev.processes import LOOPBACK, ProcessGroup
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.cluster.admin import Admin
from tests.knative.valve import Valve
from tests.knative.webhooks import webhooks


@pytest.fixture(scope="session")
def knative() -> Iterator[ControlPlane]:
    """The control plane; the product's namespaces are there, so that everything else can be tried as a dry run."""
    with ControlPlane() as control_plane, webhooks(control_plane):
        control_plane.install()
        control_plane.kubectl("create", "namespace", "team-a")
        yield control_plane


@pytest.fixture(scope="module")
def admin(cluster: ControlPlane) -> Admin:
    """The admin of the shared control plane."""
    return Admin(cluster.kubeconfig)


@pytest.fixture
def apiserver(cluster: ControlPlane) -> Iterator[Valve]:
    """A way to the API server that can be shut."""
    with Valve(urllib.parse.urlsplit(cluster.server).port or 443) as valve:
        yield valve


@pytest.fixture
def processes() -> Iterator[ProcessGroup]:
    """What a test starts, and ends with it."""
    with ProcessGroup(grace=2) as group:  # queue-proxy would drain for 30 s
        yield group


@pytest.fixture
def operator(cluster: ControlPlane, processes: ProcessGroup) -> Operator:
    """Starts bridge and function as processes."""
    return Operator(cluster, processes)


@pytest.fixture
def through_the_valve(cluster: ControlPlane, apiserver: Valve) -> Path:
    """The reconciler's kubeconfig, with the API server behind the valve."""
    original = json.loads(cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, "webapp-reconciler").read_text())
    where = {**original["clusters"][0]["cluster"], "server": f"https://{LOOPBACK}:{apiserver.port}"}
    path = cluster.folder / f"valve-{uuid.uuid4().hex[:6]}.kubeconfig"
    return kubeconfig.write(path, where, original["users"][0]["user"], "valve")
