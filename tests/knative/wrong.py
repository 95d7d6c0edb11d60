"""Manifests of ours with one mistake each: what people do to a Knative Service or to an event source by habit."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

Raw = dict[str, Any]
Mistake = Callable[[Raw], Any]


def pod(service: Raw) -> Raw:
    """The pod's spec of a Knative Service."""
    found: Raw = service["spec"]["template"]["spec"]
    return found


def container(service: Raw) -> Raw:
    """Its container."""
    found: Raw = pod(service)["containers"][0]
    return found


def annotated(**annotations: str) -> Mistake:
    """With other autoscaling annotations on the template."""
    told = {f"autoscaling.knative.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
    return lambda service: service["spec"]["template"]["metadata"]["annotations"].update(told)


def variable(name: str, **source: Any) -> Mistake:
    """With one more variable."""
    return lambda service: container(service)["env"].append({"name": name, **source})


def volume(mount: bool = True, **source: Any) -> Mistake:
    """With one more volume, mounted or not."""

    def change(service: Raw) -> None:
        pod(service)["volumes"].append({"name": "more", **source})
        if mount:
            container(service)["volumeMounts"].append({"name": "more", "mountPath": "/more"})

    return change


SERVICE: dict[str, Mistake] = {
    "pod name by the downward API": variable("POD", valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}),
    "memory limit by the downward API": variable("MEM", valueFrom={"resourceFieldRef": {"resource": "limits.memory"}}),
    "K_SERVICE set": variable("K_SERVICE", value="x"),
    "PORT set": variable("PORT", value="80"),
    "metrics port 9090": lambda s: container(s).update(ports=[{"containerPort": 9090}]),
    "two ports": lambda s: container(s)["ports"].append({"containerPort": 8081}),
    "port called metrics": lambda s: container(s)["ports"][0].update(name="metrics"),
    "container called queue-proxy": lambda s: container(s).update(name="queue-proxy"),
    "preStop hook": lambda s: container(s).update(lifecycle={"preStop": {"exec": {"command": ["true"]}}}),
    "privileged": lambda s: container(s)["securityContext"].update(privileged=True),
    "added capability": lambda s: container(s)["securityContext"]["capabilities"].update(add=["SYS_ADMIN"]),
    "readiness threshold without period": lambda s: container(s)["readinessProbe"].update(failureThreshold=5),
    "autoscaling on the Service": lambda s: s["metadata"].update(
        annotations={"autoscaling.knative.dev/min-scale": "1"}
    ),
    "window of 3 s": annotated(window="3s"),
    "window of half seconds": annotated(window="6500ms"),
    "activation scale 1": annotated(activation_scale="1"),
    "initial scale 0": annotated(initial_scale="0"),
    "CPU metric under KPA": annotated(metric="cpu"),
    "target 0": annotated(target="0"),
    "scale-down delay of 2 h": annotated(scale_down_delay="2h"),
    "more at least than at most": annotated(min_scale="5", max_scale="3"),
    "nodeSelector": lambda s: pod(s).update(nodeSelector={"disk": "ssd"}),
    "pod securityContext": lambda s: pod(s).update(securityContext={"runAsUser": 65532}),
    "initContainers": lambda s: pod(s).update(initContainers=[{"name": "init", "image": "dev.local/init"}]),
    "own grace period": lambda s: pod(s).update(terminationGracePeriodSeconds=30),
    "token mounted on purpose": lambda s: pod(s).update(automountServiceAccountToken=True),
    "timeout of 601 s": lambda s: pod(s).update(timeoutSeconds=601),
    "concurrency 1001": lambda s: pod(s).update(containerConcurrency=1001),
    "volume not mounted": volume(mount=False, emptyDir={}),
    "hostPath": volume(hostPath={"path": "/var"}),
    "claim": volume(persistentVolumeClaim={"claimName": "x", "readOnly": True}),
    "disk in huge pages": volume(emptyDir={"medium": "HugePages"}),
    "mount on /dev": lambda s: container(s)["volumeMounts"][0].update(mountPath="/dev"),
    "revision name of another service": lambda s: s["spec"]["template"]["metadata"].update(name="other-1"),
}
"""Mistakes in the reconciler's Service."""

EVENTING: dict[str, tuple[str, str, Mistake]] = {
    "Trigger without broker": ("broker", "Trigger", lambda t: t["spec"].update(broker="")),
    "Trigger without subscriber": ("broker", "Trigger", lambda t: t["spec"].pop("subscriber")),
    "filter on an upper-case attribute": (
        "broker",
        "Trigger",
        lambda t: t["spec"]["filter"]["attributes"].update(webappUid=""),
    ),
    "backoff policy unknown": ("broker", "Broker", lambda b: b["spec"]["delivery"].update(backoffPolicy="random")),
    "timeout as Go spells it": ("broker", "Broker", lambda b: b["spec"]["delivery"].update(timeout="95s")),
    "negative retry": ("broker", "Broker", lambda b: b["spec"]["delivery"].update(retry=-1)),
    "retryAfterMax without its flag": (
        "broker",
        "Broker",
        lambda b: b["spec"]["delivery"].update(retryAfterMax="PT9S"),
    ),
    "SinkBinding of nothing": ("broker", "SinkBinding", lambda b: b["spec"]["subject"].pop("name")),
    "SinkBinding to nowhere": ("broker", "SinkBinding", lambda b: b["spec"].update(sink={})),
    "source without resources": ("apiserversource", "ApiServerSource", lambda s: s["spec"].update(resources=[])),
    "source in a mode unknown": ("apiserversource", "ApiServerSource", lambda s: s["spec"].update(mode="Object")),
    "source to nowhere": ("apiserversource", "ApiServerSource", lambda s: s["spec"].update(sink={"ref": {}})),
}
"""Mistakes in what the overlays have of Eventing: overlay, kind, mistake."""


def made(manifest: Raw, mistake: Mistake) -> tuple[Raw, str]:
    """A copy with the mistake, and as text."""
    wrong = deepcopy(manifest)
    mistake(wrong)
    return wrong, json.dumps(wrong)
