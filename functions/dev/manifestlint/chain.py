"""Pure: what our own parts need of each other, which no webhook knows: each time limit outlives the one inside it.

deadline of a reconcile < gunicorn's grace; queue-proxy's drain + that grace < `timeoutSeconds`, which is also the pod's
grace < what the bridge waits for an answer. As many threads as Knative sends requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from functions.dev.manifestlint.service import is_service

DRAIN_SECONDS: Final = 30
"""How long queue-proxy waits after the last request before it lets the container end."""

GRACEFUL_SECONDS: Final = 25
"""`functions.runtime.server.serve`, `graceful_seconds`."""

DEFAULTS: Final = {"RECONCILE_THREADS": 8, "RECONCILE_DEADLINE_SECONDS": 20, "BRIDGE_RESPONSE_SECONDS": 100}


def faults(manifests: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Complaints about the reconcile function and the bridge, where both or one of them are among the manifests."""
    pods = {_process(each): _template(each) for each in manifests if _template(each)}
    function, bridge = pods.get("functions.reconcile"), pods.get("event_bridge")
    if function is None:
        return
    timeout = function.get("timeoutSeconds", 0)
    deadline, threads = (_setting(function, f"RECONCILE_{each}") for each in ("DEADLINE_SECONDS", "THREADS"))
    if deadline >= GRACEFUL_SECONDS:
        yield f"RECONCILE_DEADLINE_SECONDS: {deadline:g} must be less than the {GRACEFUL_SECONDS} s of gunicorn's grace"
    if timeout <= DRAIN_SECONDS + GRACEFUL_SECONDS:
        yield f"timeoutSeconds: {timeout} must be more than {DRAIN_SECONDS} s of drain plus {GRACEFUL_SECONDS} of grace"
    if threads != function.get("containerConcurrency"):
        yield f"containerConcurrency: {function.get('containerConcurrency')} must be RECONCILE_THREADS, {threads:g}"
    if bridge is not None and _setting(bridge, "BRIDGE_RESPONSE_SECONDS") <= timeout:
        yield f"BRIDGE_RESPONSE_SECONDS: must be more than the function's timeoutSeconds, {timeout}"


def _template(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    if not (is_service(manifest) or manifest.get("kind") == "Deployment"):
        return {}
    pod: Mapping[str, Any] = manifest.get("spec", {}).get("template", {}).get("spec", {})
    return pod


def _process(manifest: Mapping[str, Any]) -> str:
    containers = _template(manifest).get("containers") or [{}]
    return " ".join(containers[0].get("args", ()))


def _setting(pod: Mapping[str, Any], name: str) -> float:
    variables = pod["containers"][0].get("env", ())
    return float(next((each["value"] for each in variables if each["name"] == name), DEFAULTS[name]))
