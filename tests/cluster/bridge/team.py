"""What people and the garbage collector do in the test's namespace."""

from __future__ import annotations

from typing import Any

from functions.webapp.resources import Resource
from tests import builders
from tests.cluster.admin import WEBAPP, Admin
from tests.cluster.bridge.scripted_sink import ScriptedSink


class Team:
    """What happens in the test's namespace."""

    def __init__(self, admin: Admin, namespace: str) -> None:
        self.admin, self.namespace = admin, namespace

    def make(self, name: str, **spec: Any) -> dict[str, Any]:
        return self.admin.create(WEBAPP, builders.webapp(name=name, namespace=self.namespace, **spec))

    def edit(self, name: str, **spec: Any) -> dict[str, Any]:
        return self.admin.merge(WEBAPP, self.namespace, name, {"spec": spec})

    def child(self, owner: dict[str, Any], resource: Resource) -> dict[str, Any]:
        child = builders.children(owner)[resource]
        assert child is not None
        meta = {key: child["metadata"][key] for key in ("name", "namespace", "labels", "ownerReferences")}
        return self.admin.create(resource, {**child, "metadata": meta})


def version(obj: dict[str, Any]) -> str:
    return f"{obj['metadata']['uid']}.{obj['metadata']['resourceVersion']}"


def quiet(team: Team, sink: ScriptedSink) -> None:
    """Everything before this moment has been sent: the events of one more WebApp have come."""
    probe = f"probe-{len(sink.received)}"
    team.make(probe)
    sink.wait(probe, 1)
