"""The guard in strict mode, behind a real API server: what the Pod says as a whole counts for nothing."""

import itertools

import pytest

from functions.dev.processes import ProcessGroup
from tests.admission.rig import Webhooks
from tests.admission.test_validation import FLAGS, admitted, container, pod
from tests.cluster.admin import POD


@pytest.fixture(scope="module")
def strict(plane):
    with ProcessGroup() as group, Webhooks(plane, group, strict=True) as running:
        yield running


@pytest.fixture(scope="module")
def space(make_namespace):
    return make_namespace()


@pytest.mark.parametrize(("own", "pod_flag"), [*itertools.product(FLAGS, FLAGS)], ids=str)
@pytest.mark.parametrize("field", ["containers", "initContainers", "ephemeralContainers"])
def test_container_must_say_so_itself(strict, admin, space, own, pod_flag, field):
    if field == "ephemeralContainers":
        name = f"pod-{pod_flag}".lower()
        if admin.find(POD, space, name) is None:
            admin.create(POD, pod(space, name, pod_flag))
        change = {"metadata": {"namespace": space}, "spec": {field: [container("debug", own)]}}
        verdict = admitted(strict, change, "ephemeralcontainers", name)
    else:
        verdict = admitted(strict, pod(space, pod_flag=pod_flag, **{field: [container("app", own)]}))
    assert verdict is (own is True)
