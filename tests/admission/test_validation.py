"""The guard behind a real API server, beside the shipped ValidatingAdmissionPolicy as an oracle."""

import itertools

import pytest
import yaml

from functions.dev.cluster import KubectlError
from functions.runtime.kube import Call
from functions.webapp.errors import AdmissionDenied
from functions.webapp.resources import DEPLOYMENT, SYSTEM_NAMESPACE, Resource
from tests.admission.pods import BY_NAME, CASES, to_create
from tests.admission.rig import MANIFESTS, shipped
from tests.cluster.admin import POD, until

pytestmark = pytest.mark.usefixtures("webhooks")
REPLICA_SET = Resource("apps", "v1", "ReplicaSet", "replicasets")
ORACLE = "knative-eventing"
"""A namespace that the shipped guard leaves out."""

FLAGS = (None, True, False)


def container(name="app", flag=None):
    security = {} if flag is None else {"securityContext": {"runAsNonRoot": flag}}
    return {"name": name, "image": "nginx", **security}


def pod(namespace, name="app", pod_flag=None, **lists):
    spec = {"containers": [container("fine", True)], **lists}
    security = {} if pod_flag is None else {"securityContext": {"runAsNonRoot": pod_flag}}
    return to_create({"metadata": {"name": name}, "spec": {**spec, **security}}, namespace)


@pytest.fixture(scope="module")
def spaces(plane, admin, webhooks, make_namespace):
    """One namespace under the guard alone and one under the policy alone."""
    policy, binding = yaml.safe_load_all((MANIFESTS / "policy" / "policy.yaml").read_text())
    binding["spec"]["matchResources"] = {"namespaceSelector": {"matchLabels": {"oracle": "on"}}}
    guarded, oracle = make_namespace(), make_namespace({"oracle": "on"}, ORACLE)
    admin.create(POD, pod(oracle, "old", containers=[container()]))
    plane.apply([policy, binding])
    until(lambda: not admitted(webhooks, pod(oracle, containers=[container()])))
    yield guarded, oracle
    plane.kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "--all")


def admitted(webhooks, wanted, path="", name=""):
    """Whether the API server would take it."""
    namespace = wanted["metadata"]["namespace"]
    method, kind = ("PATCH", "application/strategic-merge-patch+json") if name else ("POST", "application/json")
    try:
        webhooks.api.send(Call(method, POD, namespace, name, path, body=wanted, content_type=kind).dry())
    except AdmissionDenied as denied:
        return denied.code != 403
    return True


@pytest.mark.parametrize(("own", "pod_flag"), [*itertools.product(FLAGS, FLAGS)], ids=str)
@pytest.mark.parametrize("field", ["containers", "initContainers", "ephemeralContainers"])
def test_guard_and_policy_agree_on_the_truth_table(webhooks, admin, spaces, own, pod_flag, field):
    verdicts = []
    for space in spaces:
        if field == "ephemeralContainers":
            name = f"pod-{pod_flag}".lower()
            if admin.find(POD, space, name) is None:
                admin.create(POD, pod(space, name, pod_flag))
            change = {"metadata": {"namespace": space}, "spec": {field: [container("debug", own)]}}
            verdicts.append(admitted(webhooks, change, "ephemeralcontainers", name))
        else:
            verdicts.append(admitted(webhooks, pod(space, pod_flag=pod_flag, **{field: [container("app", own)]})))
    assert verdicts == [(pod_flag if own is None else own) is True] * 2


@pytest.mark.parametrize("case", CASES, ids=str)
def test_guard_and_policy_agree_on_the_corpus(webhooks, spaces, case):
    guarded, oracle = (admitted(webhooks, to_create(case.pod, space)) for space in spaces)
    assert guarded is oracle


def test_policy_lets_old_pods_be_labelled_and_deleted_too(plane, admin, spaces):
    _, oracle = spaces
    plane.kubectl("label", "pod", "old", "a=b", "-n", oracle)
    with pytest.raises(KubectlError, match="set runAsNonRoot to true"):
        plane.kubectl("debug", "old", "-n", oracle, "--image=busybox", "--container=debugger", "--profile=general")
    plane.kubectl("debug", "old", "-n", oracle, "--image=busybox", "--container=debugger", "--profile=restricted")
    plane.kubectl("delete", "pod", "old", "-n", oracle)


def test_denial_names_every_container_and_field(plane, plain):
    with pytest.raises(KubectlError) as denied:
        plane.kubectl("run", "web", "--image=nginx", "-n", plain)
    assert "(Forbidden)" in str(denied.value)
    assert 'admission webhook "guard.platform.example.com" denied the request: containers must not' in str(denied.value)
    assert "container 'web': spec.containers[0].securityContext.runAsNonRoot is not set" in str(denied.value)


def test_denial_is_seen_on_the_replica_set_and_the_author_was_warned(plane, admin, plain):
    command = ("create", "deployment", "web", "--image=nginx", "-n", plain, "--warnings-as-errors")
    with pytest.raises(KubectlError, match="1 warning received"):
        plane.kubectl(*command)

    def failed():
        (found,) = admin.list(REPLICA_SET, plain) or [{}]
        return {each["reason"] for each in found.get("status", {}).get("conditions", [])} == {"FailedCreate"}

    def given_up():
        (found,) = admin.list(REPLICA_SET, plain)
        seen = found["status"]["observedGeneration"] == found["metadata"]["generation"]
        return seen and found["spec"]["replicas"] == 0

    assert admin.get(DEPLOYMENT, plain, "web")
    until(failed)
    admin.merge(DEPLOYMENT, plain, "web", {"spec": {"replicas": 0}})
    until(given_up)  # later tests count what the guard is asked


def test_debug_container_that_may_be_root_is_denied(plane, admin, plain):
    admin.create(POD, pod(plain))
    debug = ("debug", "app", "-n", plain, "--image=busybox", "--container=debugger")
    with pytest.raises(KubectlError, match=r"container 'debugger': spec\.ephemeralContainers\[0\]"):
        plane.kubectl(*debug, "--profile=general")
    plane.kubectl(*debug, "--profile=restricted")
    assert admin.get(POD, plain, "app")["spec"]["ephemeralContainers"][0]["name"] == "debugger"


def without_guard(plane, webhooks, admin, wanted):
    """Create what the guard would refuse, as if it had been there before the guard was."""
    configurations = [each for each in shipped(plane) if each["kind"] == "ValidatingWebhookConfiguration"]
    assert configurations
    plane.kubectl("delete", "validatingwebhookconfiguration", "webapp-guard")
    until(lambda: admitted(webhooks, wanted))
    admin.create(POD, wanted)
    webhooks.register()
    until(lambda: not admitted(webhooks, {**wanted, "metadata": {**wanted["metadata"], "name": "probe"}}))


def test_pod_from_before_the_guard_can_be_labelled_freed_and_deleted(plane, webhooks, admin, plain):
    old = pod(plain, "old", containers=[container()])
    old["metadata"]["finalizers"] = ["example.com/keep"]
    without_guard(plane, webhooks, admin, old)
    plane.kubectl("label", "pod", "old", "a=b", "-n", plain)
    with pytest.raises(KubectlError, match="'debugger'"):
        plane.kubectl("debug", "old", "-n", plain, "--image=busybox", "--container=debugger", "--profile=general")
    with pytest.raises(KubectlError, match="container 'app'"):
        plane.kubectl("set", "image", "pod/old", "app=nginx:2", "-n", plain)
    plane.kubectl("delete", "pod", "old", "-n", plain, "--wait=false")
    admin.merge(POD, plain, "old", {"metadata": {"finalizers": None}})
    admin.wait_gone(POD, plain, "old")


@pytest.mark.parametrize(
    "excluded", ["kube-system", "knative-serving", "kourier-system", "istio-system", "cert-manager"]
)
def test_namespaces_that_the_cluster_needs_are_not_even_asked_about(webhooks, admin, make_namespace, excluded):
    if excluded != "kube-system":
        make_namespace({"sidecar-injection": "enabled"}, excluded)
    before = webhooks.decisions()
    created = admin.create(POD, pod(excluded, "root", containers=[container()]))
    assert len(created["spec"]["containers"]) == 1
    assert webhooks.decisions() == before


def test_own_namespace_is_not_even_asked_about(webhooks, admin):
    before = webhooks.decisions()
    admin.create(POD, to_create(BY_NAME["restricted"].pod, SYSTEM_NAMESPACE))
    assert webhooks.decisions() == before


def test_label_edits_do_not_even_reach_the_guard(plane, webhooks, admin, plain):
    admin.create(POD, pod(plain))
    before = webhooks.decisions()
    plane.kubectl("label", "pod", "app", "a=b", "-n", plain)
    assert webhooks.decisions() == before
