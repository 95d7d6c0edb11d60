"""One real event of every type that the bridge sends: recorded from a story that is played on a real control plane.

`python -m tests.recorded` plays it and writes `tests/data/events`, which `docs/events.md` points to.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from functions.dev import recording
from functions.dev.controlplane import ControlPlane
from functions.dev.recording import short
from functions.dev.workbench import Workbench

FOLDER = Path(__file__).parent / "data" / "events"
NAMESPACE = "shop"
WEBAPP = {
    "apiVersion": "platform.example.com/v1",
    "kind": "WebApp",
    "metadata": {"name": "web", "namespace": NAMESPACE},
    "spec": {"image": "nginx:1.25", "replicas": 2, "host": "web.example.com"},
}
WEB = "webapps.v1.platform.example.com/web"
"""As kubectl understands it also where another group serves WebApps."""

CHILDREN = ("deployment", "service", "ingress")
_QUIET_SECONDS = 0.6
_OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")


def files() -> dict[str, dict[str, Any]]:
    """The recorded examples by their short name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


def play(bench: Workbench) -> dict[str, dict[str, Any]]:
    """Play the story and give the first event of each type, by its short name, as JSON."""
    kubectl = bench.cluster.kubectl

    def step(*command: str) -> None:
        kubectl(*command, "--namespace", NAMESPACE)
        settle(bench.recording)

    kubectl("create", "namespace", NAMESPACE)
    bench.cluster.apply(WEBAPP)
    step("wait", "--for=condition=Ready", WEB, "--timeout=30s")
    step("patch", WEB, "--type=merge", "--patch", '{"spec": {"image": "nginx:1.27"}}')
    step("rollout", "status", "deployment/web", "--timeout=30s")
    step("patch", WEB, "--type=merge", "--patch", '{"spec": {"paused": true}}')
    for kind in CHILDREN:
        kept = json.loads(kubectl("get", kind, "web", "-o", "json", "--namespace", NAMESPACE))
        step("label", kind, "web", "team=shop")
        step("delete", kind, "web")
        bench.cluster.apply(_again(kept))
        settle(bench.recording)
    step("patch", WEB, "--type=merge", "--patch", '{"spec": {"paused": false}}')
    bench.restart_bridge()
    settle(bench.recording)
    step("delete", WEB)
    found: dict[str, dict[str, Any]] = {}
    for each in recording.events(bench.recording.read_text(), str(bench.recording)):
        found.setdefault(short(each.event)[0], json.loads(recording.line(each.event)))
    return found


def settle(path: Path) -> None:
    """Return once nothing has been recorded for a moment."""
    size, since = -1, time.monotonic()
    while time.monotonic() - since < _QUIET_SECONDS:
        now = path.stat().st_size
        if now != size:
            size, since = now, time.monotonic()
        time.sleep(0.05)


def _again(obj: dict[str, Any]) -> dict[str, Any]:
    """The object as it would be created again by hand, owner included."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _OF_THE_SERVER}
    spec = {name: value for name, value in obj["spec"].items() if not name.startswith("clusterIP")}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, "spec": spec}


def main() -> None:
    """Write the files anew."""
    with Workbench(ControlPlane()) as bench:
        found = play(bench)
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for name, event in found.items():
        (FOLDER / f"{name}.json").write_text(json.dumps(event, indent=2) + "\n")
    print("\n".join(sorted(found)))


if __name__ == "__main__":
    main()
