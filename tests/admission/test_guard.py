"""The guard's rule, field by field, and what it lets pass on updates."""

import copy
from typing import Any

import pytest

from functions.admission.guard import Guard
from functions.admission.verdict import Reason
from tests.admission.pods import BY_NAME, judged

GROUP = "platform.example.com"
GUARD = Guard(GROUP)
LISTS = ("initContainers", "containers", "ephemeralContainers")


def container(name="c", flag=None, **context):
    context = {**context, **({} if flag is None else {"runAsNonRoot": flag})}
    return {"name": name, **({"securityContext": context} if context else {})}


def pod(pod_flag=None, **lists):
    spec = {"containers": [container("fine", True)], **lists}
    return {"metadata": {}, "spec": {**spec, "securityContext": {} if pod_flag is None else {"runAsNonRoot": pod_flag}}}


@pytest.mark.parametrize("field", LISTS)
@pytest.mark.parametrize("own", [None, True, False])
@pytest.mark.parametrize("pod_flag", [None, True, False])
@pytest.mark.parametrize("strict", [False, True])
def test_truth_table(field, own, pod_flag, strict):
    verdict = Guard(GROUP, strict=strict).judge(judged(pod(pod_flag, **{field: [container("c", own)]})))
    effective = own if own is not None else (None if strict else pod_flag)
    fine = effective is True
    assert verdict.allowed is fine
    assert (f"container 'c': spec.{field}[0].securityContext.runAsNonRoot" in verdict.message) is not fine


def test_message_names_every_offender_and_the_cure():
    verdict = GUARD.judge(judged(pod(False, initContainers=[container("a", False)], containers=[container("b")])))
    assert verdict.message == (
        "containers must not run as root, set runAsNonRoot to true there or in spec.securityContext; "
        "container 'a': spec.initContainers[0].securityContext.runAsNonRoot is false, "
        "container 'b': spec.containers[0].securityContext.runAsNonRoot is not set, the Pod's is false"
    )


def test_user_id_other_than_root_does_not_replace_the_flag():
    assert not GUARD.judge(judged(pod(containers=[container("c", runAsUser=1000)]))).allowed


def test_root_user_under_the_flag_is_warned_of_or_denied():
    asked = judged(BY_NAME["root-user"].pod)
    verdict = GUARD.judge(asked)
    assert verdict.allowed
    assert "runAsUser is 0" in verdict.warnings[0]
    denied = Guard(GROUP, deny_root_user=True).judge(asked)
    assert (denied.allowed, denied.warnings) == (False, [])
    assert "runAsUser is 0" in denied.message


OLD = pod(containers=[container("c")])


def updated(change, old=OLD):
    new = copy.deepcopy(old)
    change(new)
    return GUARD.judge(judged(new, operation="UPDATE", oldObject=old))


def test_labels_and_finalizers_of_an_old_pod_may_change():
    assert updated(lambda new: new["metadata"].update(labels={"a": "b"})).reason is Reason.UNCHANGED


def test_anything_goes_for_a_pod_that_is_being_deleted():
    old = {**OLD, "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert updated(lambda new: new["spec"]["containers"][0].update(image="x"), old).reason is Reason.DELETED


def test_deletion_timestamp_of_the_new_object_alone_opens_nothing():
    def change(new):
        new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        new["spec"]["ephemeralContainers"] = [container("d")]

    assert not updated(change).allowed


def test_new_offender_is_denied_and_the_old_one_not_blamed():
    verdict = updated(lambda new: new["spec"].update(ephemeralContainers=[container("d")]))
    assert not verdict.allowed
    assert "'d'" in verdict.message
    assert "'c'" not in verdict.message


def test_changed_offender_is_denied():
    assert not updated(lambda new: new["spec"]["containers"][0].update(image="x")).allowed


def test_flag_taken_from_the_pod_is_denied():
    old = pod(True, containers=[container("c")])
    assert not updated(lambda new: new["spec"].update(securityContext={}), old).allowed


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("kubectl-debug-ephemeral", False),
        ("kubectl-debug-restricted", True),
        ("kubectl-label", True),
        ("finalizer-removed", True),
    ],
)
def test_updates_as_kubectl_sends_them(name, allowed):
    assert GUARD.judge(BY_NAME[name].review).allowed is allowed


def template(kind, path, group="apps"):
    obj: dict[str, Any] = {"containers": [container("c")]}
    for field in reversed(path.split(".")):
        obj = {field: obj}
    resource = {"group": group, "version": "v1", "resource": kind.lower() + "s"}
    return judged(obj, kind={"group": group, "version": "v1", "kind": kind}, resource=resource)


@pytest.mark.parametrize(
    ("kind", "path", "group"),
    [
        ("Deployment", "spec.template.spec", "apps"),
        ("StatefulSet", "spec.template.spec", "apps"),
        ("DaemonSet", "spec.template.spec", "apps"),
        ("Job", "spec.template.spec", "batch"),
        ("CronJob", "spec.jobTemplate.spec.template.spec", "batch"),
    ],
)
def test_what_makes_pods_is_warned_and_never_denied(kind, path, group):
    verdict = GUARD.judge(template(kind, path, group))
    assert verdict.allowed
    assert verdict.warnings[0].startswith("its Pods will be refused: ")
    assert f"{path}.containers[0]" in verdict.warnings[0]
    assert Guard(GROUP, warn_workloads=False).judge(template(kind, path, group)).warnings == ()


@pytest.mark.parametrize(
    ("spec", "warned"),
    [({}, True), ({"securityContext": {"runAsNonRoot": True}}, False), ({"securityContext": None}, True)],
)
def test_webapp_is_told_which_field_to_set(spec, warned):
    kind = {"group": GROUP, "version": "v1", "kind": "WebApp"}
    resource = {"group": GROUP, "version": "v1", "resource": "webapps"}
    verdict = GUARD.judge(judged({"spec": spec}, kind=kind, resource=resource))
    assert verdict.allowed
    assert ["set spec.securityContext.runAsNonRoot to true" in each for each in verdict.warnings] == [True] * warned


def test_other_kinds_and_operations_are_none_of_its_business():
    other = {"group": "", "version": "v1", "resource": "configmaps"}
    assert GUARD.judge(judged({}, kind={"kind": "ConfigMap"}, resource=other)).reason is Reason.NOT_OURS
    assert GUARD.judge(judged(None, operation="DELETE", oldObject=OLD)).reason is Reason.NOT_OURS
