"""Our two processes as a pod would run them."""

from __future__ import annotations

from collections.abc import Mapping

from functions.dev.processes import LOOPBACK, Process
from tests.bench.rig import Rig

FUNCTION = "function"
BRIDGE = "bridge"


def start_function(rig: Rig, settings: Mapping[str, str] | None = None) -> tuple[Process, str]:
    """The reconcile function and its URL, once it is ready."""
    wanted = {"PORT": "{port}", **(settings or {})}
    return rig.start_module(FUNCTION, "webapp-reconciler", wanted, "health/readiness")


def start_bridge(rig: Rig, sink: str, settings: Mapping[str, str] | None = None) -> tuple[Process, str]:
    """The event bridge towards a sink and the URL of its health server, once it is ready."""
    wanted = {
        "K_SINK": sink,
        "BRIDGE_HEALTH_HOST": LOOPBACK,
        "BRIDGE_HEALTH_PORT": "{port}",
        "BRIDGE_PARKING_FILE": str(rig.processes.folder / "parked.jsonl"),
        **(settings or {}),
    }
    return rig.start_module(BRIDGE, "webapp-bridge", wanted, "readyz")
