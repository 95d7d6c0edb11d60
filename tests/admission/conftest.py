"""A control plane of their own for webhooks: in a shared one they would judge everybody's Pods."""

import itertools
import json

import pytest

from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup
from tests.admission.rig import Webhooks

_numbers = itertools.count()


@pytest.fixture(scope="session")
def plane():
    with ControlPlane() as control_plane:
        control_plane.install()
        yield control_plane


@pytest.fixture(scope="module")
def webhooks(plane):
    """Both webhooks as shipped, one replica."""
    with ProcessGroup() as group, Webhooks(plane, group) as running:
        yield running


@pytest.fixture
def make_namespace(plane):
    """`make_namespace(label=value, ...)`: a new namespace with these labels; `_` in a label stands for `-`."""

    def make(**labels):
        name = f"admission-{next(_numbers)}"
        labels = {key.replace("_", "-"): value for key, value in labels.items()}
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        for _ in range(100):  # Pods are refused until the controller made the default ServiceAccount
            if plane.kubectl("get", "serviceaccount", "default", "-n", name, "--ignore-not-found"):
                break
        return name

    return make


@pytest.fixture
def opted_in(make_namespace):
    """A namespace that wants sidecars."""
    return make_namespace(sidecar_injection="enabled")


@pytest.fixture
def get(plane):
    """`get("pod", "x", namespace)`: the object as it is stored."""
    return lambda kind, name, namespace: json.loads(plane.kubectl("get", kind, name, "-n", namespace, "-o", "json"))
