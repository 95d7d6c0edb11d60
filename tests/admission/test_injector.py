"""The injector on Pods as the API server really sends them, and on Pods that nobody would think of."""

import copy

import pytest
from hypothesis import HealthCheck, given, settings

from functions.admission.guard import Guard
from functions.admission.inject import Injector
from functions.admission.template import Template, TemplateError
from functions.admission.verdict import Reason
from tests import json_patch
from tests.admission.pods import BY_NAME, CASES, CLASSIC, INJECTOR, MARKER, PODS, TEMPLATE

NAME = TEMPLATE.name
patient = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def injected(pod, injector=INJECTOR):
    return json_patch.apply(copy.deepcopy(pod), list(injector.inject(pod).patch))


def sidecar(pod):
    (found,) = [each for each in pod["spec"]["initContainers"] if each["name"] == NAME]
    return found


def without_ours(pod):
    """The Pod with everything taken out that the injector may put in."""
    pod = copy.deepcopy(pod)
    notes = pod["metadata"].get("annotations") or {}
    for key in (MARKER, "kubectl.kubernetes.io/default-container"):
        notes.pop(key, None)
    pod["metadata"].pop("annotations", None) if not notes else None
    spec = pod["spec"]
    for field in ("initContainers", "containers", "volumes"):
        kept = [
            each for each in spec.get(field) or [] if each["name"] != NAME and not each["name"].startswith("log-volume")
        ]
        spec[field] = kept or None
    for container in spec["containers"] or []:
        mounts = [each for each in container.get("volumeMounts") or [] if not each["name"].startswith("log-volume")]
        container["volumeMounts"] = mounts or None
    return pod


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("injector", [INJECTOR, CLASSIC], ids=["native", "classic"])
def test_second_pass_changes_nothing(case, injector):
    once = injected(case.pod, injector)
    assert injector.inject(once).patch == ()
    count = sum(
        each["name"] == NAME for key in ("containers", "initContainers") for each in once["spec"].get(key) or []
    )
    assert count <= 1


@patient
@given(PODS)
def test_any_pod_is_patched_once_and_keeps_what_is_its_own(pod):
    for injector in (INJECTOR, CLASSIC):
        once = injected(pod, injector)
        assert injected(once, injector) == once
        assert without_ours(once) == without_ours(pod)


@patient
@given(PODS)
def test_verdict_of_the_guard_does_not_change_by_injection(pod):
    for guard in (Guard("g"), Guard("g", strict=True)):
        before = [(each.field, each.name) for each in guard.violations(pod["spec"])]
        after = [(each.field, each.name) for each in guard.violations(injected(pod)["spec"])]
        assert after == before


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("already-injected", Reason.ALREADY_INJECTED),
        ("opted-out", Reason.OPTED_OUT),
        ("kubectl-run-with-injection-refused-by-label", Reason.OPTED_OUT),
        ("mirror", Reason.MIRROR_POD),
        ("windows", Reason.WINDOWS),
        ("container-of-the-same-name", Reason.NAME_TAKEN),
        ("log-volume-below", Reason.NO_LOG_VOLUME),
        ("log-volume-by-expression", Reason.NO_LOG_VOLUME),
    ],
)
def test_pod_is_left_alone(name, reason):
    verdict = INJECTOR.inject(BY_NAME[name].pod)
    assert (verdict.reason, verdict.allowed, verdict.patch) == (reason, True, ())


@pytest.mark.parametrize("name", ["container-of-the-same-name", "log-volume-below", "log-volume-by-expression"])
def test_user_is_told_why_there_is_no_sidecar(name):
    (warning,) = INJECTOR.inject(BY_NAME[name].pod).warnings
    assert warning.startswith("no log sidecar: ")


def test_volume_at_the_log_directory_is_reused_read_only():
    pod = injected(BY_NAME["log-volume"].pod)
    assert sidecar(pod)["volumeMounts"] == [{"name": "log-volume", "mountPath": "/var/log", "readOnly": True}]
    assert [each["name"] for each in pod["spec"]["volumes"]].count("log-volume") == 1


def test_sub_path_and_mounts_above_are_repeated_for_the_sidecar():
    (by_sub_path,) = sidecar(injected(BY_NAME["log-volume-with-sub-path"].pod))["volumeMounts"]
    assert by_sub_path == {"name": "data", "mountPath": "/var/log/", "subPath": "logs", "readOnly": True}
    (above,) = sidecar(injected(BY_NAME["log-volume-above"].pod))["volumeMounts"]
    assert above == {"name": "var", "mountPath": "/var", "readOnly": True}


def test_pod_without_volume_gets_a_bounded_one_in_every_container():
    pod = injected(BY_NAME["deployment-two-containers"].pod)
    assert {"name": "log-volume", "emptyDir": {"sizeLimit": "64Mi"}} in pod["spec"]["volumes"]
    for container in pod["spec"]["containers"]:
        assert {"name": "log-volume", "mountPath": "/var/log"} in container["volumeMounts"]


def test_volume_of_the_users_own_gets_no_second_of_its_name():
    pod = injected(BY_NAME["volume-name-taken"].pod)
    assert [each["name"] for each in pod["spec"]["volumes"] if "emptyDir" in each] == ["log-volume", "log-volume-2"]


def test_container_with_a_mount_below_is_spared_and_named():
    verdict = INJECTOR.inject(BY_NAME["log-volume-below-in-one-of-two"].pod)
    assert [each["path"] for each in verdict.patch if "volumeMounts" in each["path"]] == [
        "/spec/containers/1/volumeMounts/-"
    ]
    assert "'first'" in verdict.warnings[0]


def test_native_sidecar_comes_before_other_init_containers():
    pod = injected(BY_NAME["init-containers"].pod)
    assert [each["name"] for each in pod["spec"]["initContainers"]] == [NAME, "prepare", "migrate"]
    assert sidecar(pod)["restartPolicy"] == "Always"


def test_classic_sidecar_comes_last_and_never_into_a_job():
    pod = injected(BY_NAME["deployment"].pod, CLASSIC)
    assert [each["name"] for each in pod["spec"]["containers"]] == ["nginx", NAME]
    assert "restartPolicy" not in pod["spec"]["containers"][1]
    assert CLASSIC.inject(BY_NAME["job"].pod).reason is Reason.RUNS_TO_COMPLETION


def test_sidecar_that_opens_ports_stays_off_the_hosts_network():
    ports = Injector(TEMPLATE.model_copy(update={"ports": [{"name": "m", "containerPort": 1}]}), MARKER)
    assert ports.inject(BY_NAME["daemonset"].pod).reason is Reason.HOST_PORTS
    assert INJECTOR.inject(BY_NAME["daemonset"].pod).reason is Reason.INJECTED


def test_annotations_are_added_to_never_replaced():
    pod = injected(BY_NAME["annotated"].pod)
    notes = pod["metadata"]["annotations"]
    assert notes == {**BY_NAME["annotated"].pod["metadata"]["annotations"], MARKER: TEMPLATE.digest}
    assert (
        injected(BY_NAME["kubectl-run"].pod)["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"]
        == "web"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"image": ""}, "image: "),
        ({"runAsUser": 0}, "runAsUser: "),
        ({"logDirectory": "/var/log/"}, "logDirectory: "),
        ({"volumeSizeLimit": "lots"}, "volumeSizeLimit: "),
        ({"imagee": "x"}, "imagee: "),
        ({"command": []}, "command: "),
        ({"resources": {"limits": {"cpu": "-1"}}}, "resources.limits.cpu: "),
    ],
)
def test_template_that_cannot_be_meant_is_refused_by_field(change, said):
    with pytest.raises(TemplateError, match=said):
        Template.of({"image": "busybox", "command": ["tail"], **change})


def test_template_that_is_no_mapping_is_refused():
    with pytest.raises(TemplateError, match="template: "):
        Template.of("image: busybox")
