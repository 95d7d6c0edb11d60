"""The corpus, which a real API server sent (`python -m tests.admission.capture`), and Pods made up by hypothesis."""

import copy
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from functions.admission import review as envelope
from functions.admission.inject import Injector, Mode
from functions.admission.template import Template

FOLDER = Path(__file__).resolve().parents[1] / "data" / "pods"
MARKER = "platform.example.com/sidecar"
TEMPLATE = Template.of({"image": "busybox:1.37", "command": ["tail", "-F", "/var/log/app.log"]})
INJECTOR = Injector(TEMPLATE, MARKER)
CLASSIC = Injector(TEMPLATE, MARKER, Mode.CLASSIC)


@dataclass(frozen=True)
class Case:
    name: str
    body: bytes

    def __str__(self) -> str:
        return self.name

    @property
    def review(self) -> envelope.Review:
        return envelope.parse(self.body)

    @property
    def pod(self) -> dict[str, Any]:
        """The Pod as a create would send it."""
        pod: dict[str, Any] = copy.deepcopy(json.loads(self.body)["request"]["object"])
        pod["metadata"].pop("deletionTimestamp", None)
        return pod


CASES = [Case(path.stem, path.read_bytes()) for path in sorted(FOLDER.glob("*.json"))]
BY_NAME = {case.name: case for case in CASES}


def review_of(obj: Any, **request: Any) -> dict[str, Any]:
    """A whole AdmissionReview for a Pod."""
    asked = {
        "uid": "7f0c2c0e-0000-4000-8000-000000000001",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "namespace": "team",
        "object": obj,
        "oldObject": None,
        "dryRun": False,
        **request,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}


def judged(obj: Any, **request: Any) -> envelope.Review:
    """The same, parsed."""
    return envelope.parse(json.dumps(review_of(obj, **request)).encode())


_flag = st.sampled_from([None, True, False])
_names = st.sampled_from(["app", "web", "init", "log-sidecar", "debug", "x" * 63])
_unknown: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["newField", "x~y", "a/b"]), st.sampled_from([1, "text", None, [], {"a": [{"b": 1}]}]), max_size=2
)
_mounts = st.lists(
    st.builds(
        lambda name, path, more: {"name": name, "mountPath": path, **more},
        st.sampled_from(["data", "log-volume", "log-volume-2"]),
        st.sampled_from(["/var/log", "/var/log/", "/var", "/var/log/nginx", "/data", "/"]),
        st.sampled_from([{}, {"subPath": "a"}, {"subPathExpr": "$(A)"}, {"readOnly": True}]),
    ),
    max_size=3,
)


def _set(parent: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**parent, **{key: value for key, value in fields.items() if value is not None}}


_security = st.builds(
    lambda flag, user, more: _set(more, runAsNonRoot=flag, runAsUser=user),
    _flag,
    st.sampled_from([None, 0, 1000]),
    _unknown,
)
_container = st.builds(
    lambda name, mounts, security, more: _set({"name": name, **more}, volumeMounts=mounts, securityContext=security),
    _names,
    st.none() | _mounts,
    st.none() | _security,
    _unknown,
)
_containers = st.lists(_container, min_size=1, max_size=3, unique_by=lambda each: each["name"])
_annotations = st.dictionaries(
    st.sampled_from(["a/b", "kubectl.kubernetes.io/default-container", "sidecar-injection", MARKER]),
    st.sampled_from(["app", "disabled"]),
    max_size=2,
)
PODS = st.builds(
    lambda meta, containers, init, debug, volumes, security, more: {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": _set(
            {"containers": containers, **more},
            initContainers=init,
            ephemeralContainers=debug,
            volumes=volumes,
            securityContext=security,
        ),
    },
    st.builds(
        lambda notes, labels: _set({}, annotations=notes, labels=labels),
        st.none() | _annotations,
        st.none() | _annotations,
    ),
    _containers,
    st.none() | _containers,
    st.none() | _containers,
    st.none() | st.sampled_from([[], [{"name": "data", "emptyDir": {}}], [{"name": "log-volume", "emptyDir": {}}]]),
    st.none() | _security,
    st.sampled_from(
        [{}, {"hostNetwork": True}, {"restartPolicy": "Never"}, {"os": {"name": "windows"}}, {"newField": {"a": 1}}]
    ),
)


def to_create(pod: dict[str, Any], namespace: str) -> dict[str, Any]:
    """A recorded Pod as it may be created again in another namespace."""
    pod = copy.deepcopy(pod)
    kept = {
        key: pod["metadata"][key] for key in ("name", "generateName", "labels", "annotations") if key in pod["metadata"]
    }
    if "generateName" in kept:
        kept.pop("name", None)
    spec = {key: value for key, value in pod["spec"].items() if key != "ephemeralContainers"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**kept, "namespace": namespace}, "spec": spec}


def compliant(pod: dict[str, Any]) -> dict[str, Any]:
    """The same Pod, every container of which says that it does not run as root."""
    pod = copy.deepcopy(pod)
    for field in ("initContainers", "containers"):
        for container in pod["spec"].get(field) or []:
            container["securityContext"] = {**container.get("securityContext", {}), "runAsNonRoot": True}
    return pod
