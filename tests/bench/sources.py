"""What turns changes into CloudEvents: our bridge, and the receive adapter of Knative's ApiServerSource."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import dataclass, field

from functions.webapp.resources import DEPLOYMENT, SYSTEM_NAMESPACE, Resource
from tests.bench.peers import programs
from tests.bench.pods import BRIDGE as BRIDGE_PROCESS
from tests.bench.pods import start_bridge
from tests.bench.rig import NAMESPACE, RESOURCE, TWIN, Rig


@dataclass(frozen=True)
class Source:
    """A kind of source; `start` starts it towards a sink's URL, and starts it again after it was stopped."""

    name: str
    process: str
    start: Callable[[Rig, str], None] = field(repr=False)

    def pid(self, rig: Rig) -> int:
        """Its root process."""
        return rig.processes[self.process].pid

    def kill(self, rig: Rig) -> None:
        """End it without a warning."""
        process = rig.processes[self.process]
        process.signal(signal.SIGKILL)
        process.wait(5.0)


def _bridge(rig: Rig, sink: str) -> None:
    start_bridge(rig, sink)


def _adapter(rig: Rig, sink: str) -> None:
    """With the environment that the controller of ApiServerSource gives its Deployment."""
    kinds = [{"gvr": _gvr(each)} for each in (RESOURCE, DEPLOYMENT)]
    config = {"namespaces": [NAMESPACE], "allNamespaces": True, "resources": kinds, "mode": "Resource"}
    env = {
        "K_SINK": sink,
        "K_SOURCE_CONFIG": json.dumps(config),
        "SYSTEM_NAMESPACE": SYSTEM_NAMESPACE,
        "NAMESPACE": SYSTEM_NAMESPACE,
        "NAME": "webapps",
        "METRICS_DOMAIN": "knative.dev/eventing",
    }
    rig.start("adapter", [programs.adapter(), "-kubeconfig", rig.kubeconfig(TWIN)], env)


def _gvr(resource: Resource) -> dict[str, str]:
    return {"Group": resource.group, "Version": resource.version, "Resource": resource.plural}


BRIDGE = Source("our bridge", BRIDGE_PROCESS, _bridge)
ADAPTER = Source("ApiServerSource", "adapter", _adapter)
