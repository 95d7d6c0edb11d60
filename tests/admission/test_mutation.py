"""The injector behind a real API server."""

import copy
import json

import pytest

from functions.admission.guard import Guard
from functions.admission.verdict import Reason
from functions.dev.cluster import KubectlError
from functions.runtime.kube import Call
from functions.webapp.errors import AdmissionDenied
from tests.admission.capture import Listener, listen, patching
from tests.admission.pods import CASES, INJECTOR, MARKER, TEMPLATE, compliant, to_create
from tests.admission.test_injector import without_ours
from tests.cluster.admin import POD

pytestmark = pytest.mark.usefixtures("webhooks")
NAME = TEMPLATE.name


def dry(webhooks, pod):
    """What the API server would store."""
    return webhooks.api.send(Call("POST", POD, pod["metadata"]["namespace"], body=pod).dry())


def sidecars(pod):
    spec = pod["spec"]
    return [
        each for field in ("initContainers", "containers") for each in spec.get(field) or [] if each["name"] == NAME
    ]


def simple(namespace, name="app", **spec):
    container = {"name": "app", "image": "nginx", "securityContext": {"runAsNonRoot": True}}
    return to_create({"metadata": {"name": name}, "spec": {"containers": [container], **spec}}, namespace)


def test_labelled_namespace_gets_one_sidecar_and_one_shared_mount(admin, opted_in):
    pod = admin.create(POD, simple(opted_in))
    (sidecar,) = sidecars(pod)
    assert {"name": "log-volume", "mountPath": "/var/log", "readOnly": True} in sidecar["volumeMounts"]
    assert {"name": "log-volume", "mountPath": "/var/log"} in pod["spec"]["containers"][0]["volumeMounts"]
    assert pod["spec"]["initContainers"] == [sidecar]
    assert MARKER in pod["metadata"]["annotations"]


def test_unlabelled_namespace_leaves_every_byte_of_the_spec_alone(webhooks, plain):
    wanted = simple(plain, automountServiceAccountToken=False)
    untouched = simple("kube-system", automountServiceAccountToken=False)
    assert json.dumps(dry(webhooks, wanted)["spec"]) == json.dumps(dry(webhooks, untouched)["spec"])
    assert MARKER not in dry(webhooks, wanted)["metadata"].get("annotations", {})


@pytest.fixture(scope="module")
def spaces(make_namespace):
    """A namespace with sidecars and one without."""
    return make_namespace({"sidecar-injection": "enabled"}), make_namespace()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_corpus_is_admitted_injected_as_decided_and_otherwise_unchanged(webhooks, spaces, case):
    wanted = compliant(case.pod)
    found, untouched = (dry(webhooks, to_create(wanted, space)) for space in spaces)
    expected = INJECTOR.inject(to_create(wanted, "x")).reason
    ours = len(sidecars(found)) - len(sidecars(untouched))
    assert ours == (1 if expected is Reason.INJECTED else 0)
    assert bare(found) == bare(untouched)


def bare(pod):
    spec = without_ours({**copy.deepcopy(pod), "metadata": {}})["spec"]
    return {key: value for key, value in spec.items() if value is not None}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_verdict_on_the_corpus_is_that_of_the_pure_guard(webhooks, spaces, case):
    pod = to_create(case.pod, spaces[0])
    if Guard("g").violations(pod["spec"]):
        with pytest.raises(AdmissionDenied, match="containers must not run as root"):
            dry(webhooks, pod)
    else:
        dry(webhooks, pod)


def test_dry_run_shows_the_patch_and_writes_nothing(plane, admin, opted_in):
    pod = json.dumps(simple(opted_in, "rehearsed"))
    shown = json.loads(plane.kubectl("apply", "--dry-run=server", "-o", "json", "-f", "-", stdin=pod))
    assert len(sidecars(shown)) == 1
    assert admin.find(POD, opted_in, "rehearsed") is None
    with pytest.raises(KubectlError, match="containers must not run as root"):
        plane.kubectl("run", "x", "--image=nginx", "--dry-run=server", "-n", opted_in)


def test_injected_pod_passes_the_guard_and_the_restricted_level(admin, make_namespace):
    labels = {"sidecar-injection": "enabled", "pod-security.kubernetes.io/enforce": "restricted"}
    namespace = make_namespace(labels)
    context = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container = {"name": "app", "image": "nginx", "securityContext": context}
    security = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    pod = {"metadata": {"name": "app"}, "spec": {"containers": [container], "securityContext": security}}
    assert len(sidecars(admin.create(POD, to_create(pod, namespace)))) == 1


def test_another_webhook_behind_ours_does_not_bring_a_second_sidecar(plane, webhooks, admin, opted_in):
    def meddle(pod):
        if any(each["name"] == "mesh" for each in pod["spec"].get("initContainers") or []):
            return []
        mesh = {"name": "mesh", "image": "mesh", "restartPolicy": "Always", "securityContext": {"runAsNonRoot": True}}
        where = "0" if pod["spec"].get("initContainers") else ""
        value = mesh if where else [mesh]
        return [{"op": "add", "path": f"/spec/initContainers/{where}".rstrip("/"), "value": value}]

    before = webhooks.decisions().get(("mutate", "CREATE", "allowed", "already_injected"), 0)
    with listen(plane, operations=["CREATE"], name="zz-mesh", handler=patching(meddle)):
        pod = admin.create(POD, simple(opted_in))
    assert [each["name"] for each in pod["spec"]["initContainers"]] == ["mesh", NAME]
    assert webhooks.decisions()[("mutate", "CREATE", "allowed", "already_injected")] > before


def test_patch_that_does_not_apply_fails_even_where_failures_are_ignored(plane, admin, opted_in):
    """The control: why the injector must never get a pointer wrong."""
    wrong = patching(lambda _pod: [{"op": "add", "path": "/spec/nowhere/-", "value": {}}])
    registered = listen(plane, operations=["CREATE"], name="zz-wrong", handler=wrong, failure_policy="Ignore")
    with registered, pytest.raises(KubectlError, match="add operation does not apply"):
        plane.kubectl("apply", "-f", "-", stdin=json.dumps(simple(opted_in)))
    assert admin.find(POD, opted_in, "app") is None


@pytest.mark.parametrize(
    "wrong", [{"uid": "another"}, {"apiVersion": "admission.k8s.io/v1beta1"}], ids=["uid", "version"]
)
def test_answer_without_the_uid_or_the_version_counts_as_a_failed_call(plane, admin, opted_in, wrong):
    """The control: why the envelope must be exact."""

    class Sloppy(Listener):
        wrongly = wrong

    registered = listen(plane, operations=["CREATE"], name="zz-sloppy", handler=Sloppy)
    with registered, pytest.raises(KubectlError, match="failed calling webhook"):
        plane.kubectl("apply", "-f", "-", stdin=json.dumps(simple(opted_in)))
