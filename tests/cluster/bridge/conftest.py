"""A scripted sink, bridges that send to it, and a namespace in which something happens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.cluster.admin import Admin
from tests.cluster.bridge.bridges import Bridges
from tests.cluster.bridge.scripted_sink import ScriptedSink, scripted_sink
from tests.cluster.bridge.team import Team


@pytest.fixture
def sink() -> Iterator[ScriptedSink]:
    with scripted_sink() as found:
        yield found


@pytest.fixture
def bridges(cluster: ControlPlane, namespace: str, sink: ScriptedSink) -> Iterator[Bridges]:
    account = cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, "webapp-bridge")
    common = {"K_SINK": sink.url, "WEBAPP_NAMESPACES": namespace, "BRIDGE_LEASE_NAME": namespace}
    with ProcessGroup(grace=30) as processes:
        yield Bridges(account, processes, common)


@pytest.fixture
def team(admin: Admin, namespace: str) -> Team:
    return Team(admin, namespace)
