"""The history's manifests: accepted by everything that looks at them, and true to one another."""

import json
from pathlib import Path

import pytest
import yaml

from functions.dev.manifestlint import complaints
from functions.dev.manifestlint.chain import DRAIN_SECONDS, GRACEFUL_SECONDS
from functions.history.record import DEFAULT_GROUP, VERSION
from functions.history.recorder.settings import Settings
from functions.webapp import finished
from functions.webapp.resources import DEFAULT_GROUP as WEBAPP_GROUP
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.knative.kustomize import FOLDER, built, composed, manifests
from tests.knative.test_manifests import tried

HISTORY = FOLDER / "extensions" / "history"
SERVER, RECORDER = "webapp-history", "webapp-history-recorder"
REGISTRATION = f"{VERSION}.{DEFAULT_GROUP}"


def one(found, kind, name=None):
    (each,) = [each for each in found if each["kind"] == kind and name in {None, each["metadata"]["name"]}]
    return each


def variables(pod):
    return {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}


@pytest.fixture(scope="module", autouse=True)
def accounts(knative):
    """Those that Serving's webhook looks up when it rehearses a Pod."""
    knative.apply((HISTORY / "base" / "rbac.yaml").read_text())


@pytest.mark.parametrize("folder", [".", "apiservice", "broker"])
def test_manifests_are_accepted_without_a_warning(knative, folder):
    found = manifests(knative, HISTORY / folder)
    assert complaints(found) == []
    assert len(tried(knative, built(knative, HISTORY / folder))) == len(found)


def test_pods_pass_the_restricted_level(knative):
    knative.kubectl("create", "namespace", "strict")
    knative.kubectl("label", "namespace", "strict", "pod-security.kubernetes.io/enforce=restricted")
    pod = one(manifests(knative, HISTORY), "Deployment")["spec"]["template"]
    spec = {key: value for key, value in pod["spec"].items() if key not in {"serviceAccountName", "priorityClassName"}}
    meta = {"name": "probe", "namespace": "strict"}
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    assert tried(knative, text)


def test_component_makes_the_bridge_hand_on_what_it_is_told(knative, tmp_path):
    folder = composed(tmp_path, "history")
    assert tried(knative, built(knative, folder))
    bridge = one(manifests(knative, folder), "Deployment", "webapp-bridge")
    assert (
        variables(bridge["spec"]["template"]["spec"])["BRIDGE_HISTORY_SINK"]
        == f"http://{RECORDER}.{SYSTEM_NAMESPACE}.svc"
    )


def test_with_tokens_the_recorder_asks_for_what_the_bridge_brings(knative, tmp_path):
    folder = composed(tmp_path, "history", "oidc-history", resources=["overlays/oidc", "extensions/history"])
    found = manifests(knative, folder)
    assert complaints(found) == []
    assert len(tried(knative, built(knative, folder))) == len(found)
    bridge = one(found, "Deployment", "webapp-bridge")["spec"]["template"]["spec"]
    path = Path(variables(bridge)["BRIDGE_HISTORY_TOKEN"])
    mounts = {each["mountPath"]: each["name"] for each in bridge["containers"][0]["volumeMounts"]}
    (volume,) = [each for each in bridge["volumes"] if each["name"] == mounts[str(path.parent)]]
    (source,) = volume["projected"]["sources"]
    assert source["serviceAccountToken"]["path"] == path.name
    recorder = one(found, "Service", RECORDER)["spec"]["template"]["spec"]
    for each in (recorder, one(found, "ServiceAccount", RECORDER)):
        assert "automountServiceAccountToken" not in each, "it reads the keys that tokens are signed with"
    assert variables(recorder)["SENDER_AUDIENCE"] == source["serviceAccountToken"]["audience"]
    sender = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{bridge['serviceAccountName']}"
    assert variables(recorder)["SENDER_SUBJECTS"] == sender


def test_registration_stands_apart_from_what_it_registers(knative):
    for folder in (".", "broker", "cert-manager"):
        assert "APIService" not in {each["kind"] for each in manifests(knative, HISTORY / folder)}
    for folder in ("apiservice", "cert-manager/apiservice"):
        (registration,) = manifests(knative, HISTORY / folder)
        assert registration["metadata"]["name"] == REGISTRATION
        assert registration["spec"]["service"] == {"name": SERVER, "namespace": SYSTEM_NAMESPACE, "port": 443}
        assert "insecureSkipTLSVerify" not in registration["spec"]


def test_server_never_has_less_than_two_replicas_by_intent(knative):
    found = manifests(knative, HISTORY)
    spec = one(found, "Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]["rollingUpdate"]["maxUnavailable"]) == (2, 0)
    assert one(found, "PodDisruptionBudget")["spec"]["minAvailable"] == 1
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] >= 30 + 10
    assert spec["template"]["spec"]["topologySpreadConstraints"][0]["topologyKey"] == "kubernetes.io/hostname"


def test_rights_are_those_of_a_delegating_server_and_no_more(knative):
    found = manifests(knative, HISTORY)
    bindings = [each for each in found if each["kind"].endswith("Binding")]
    assert {(each["kind"], each["roleRef"]["name"], each["metadata"].get("namespace")) for each in bindings} == {
        ("ClusterRoleBinding", "system:auth-delegator", None),
        ("RoleBinding", "extension-apiserver-authentication-reader", "kube-system"),
    }
    assert {each["subjects"][0]["name"] for each in bindings} == {SERVER}
    recorder = one(found, "ServiceAccount", RECORDER)
    assert recorder["automountServiceAccountToken"] is False
    role = one(found, "ClusterRole")
    assert role["rules"] == [
        {"apiGroups": [DEFAULT_GROUP], "resources": ["reconciles"], "verbs": ["get", "list", "watch"]}
    ]
    assert set(role["metadata"]["labels"]) == {
        f"rbac.authorization.k8s.io/aggregate-to-{each}" for each in ("view", "edit", "admin")
    }


def test_trigger_takes_finished_reconciles_alone(knative):
    trigger = one(manifests(knative, HISTORY / "broker"), "Trigger")["spec"]
    assert trigger["filter"] == {"attributes": {"type": finished.event_type(WEBAPP_GROUP)}}
    broker = one(manifests(knative, FOLDER / "overlays" / "broker"), "Broker")
    assert trigger["broker"] == broker["metadata"]["name"]
    assert trigger["subscriber"]["ref"]["name"] == RECORDER


def test_both_parts_have_the_same_database_and_password(knative):
    found = manifests(knative, HISTORY)
    server = one(found, "Deployment")["spec"]["template"]["spec"]
    recorder = one(found, "Service", RECORDER)["spec"]["template"]["spec"]
    for pod in (server, recorder):
        container = pod["containers"][0]
        assert container["envFrom"] == [{"configMapRef": {"name": one(found, "ConfigMap")["metadata"]["name"]}}]
        assert variables(pod)["HISTORY_DATABASE_PASSWORD_FILE"] == "/etc/webapp/database/password"
        mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
        secrets = {each["name"]: each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each}
        assert secrets[mounts["/etc/webapp/database"]] == "webapp-history-database"


def test_each_limit_outlives_the_one_inside_it(knative, tmp_path):
    found = manifests(knative, HISTORY)
    pod = one(found, "Service", RECORDER)["spec"]["template"]["spec"]
    environment = variables(pod) | one(found, "ConfigMap")["data"]
    password = tmp_path / "password"
    password.write_text("word")
    settings = Settings.load({**environment, "HISTORY_DATABASE_PASSWORD_FILE": str(password)})
    trigger = one(manifests(knative, HISTORY / "broker"), "Trigger")["spec"]["delivery"]
    assert settings.queue == pod["containerConcurrency"]
    assert settings.patience < float(trigger["timeout"].removeprefix("PT").removesuffix("S"))
    assert settings.patience < GRACEFUL_SECONDS < pod["timeoutSeconds"] - DRAIN_SECONDS


def test_cert_manager_variant_differs_by_certificates_alone(knative):
    plain, managed = manifests(knative, HISTORY), manifests(knative, HISTORY / "cert-manager")
    added = [each for each in managed if each["apiVersion"].startswith("cert-manager.io/")]
    assert [each["kind"] for each in added] == ["Certificate", "Certificate", "Issuer", "Issuer"]
    assert [each for each in managed if each not in added] == plain
    leaf = one(added, "Certificate", SERVER)
    assert leaf["spec"]["dnsNames"] == [f"{SERVER}.{SYSTEM_NAMESPACE}.svc"]
    (registration,) = manifests(knative, HISTORY / "cert-manager" / "apiservice")
    source = registration["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
    assert source == f"{SYSTEM_NAMESPACE}/{leaf['metadata']['name']}"
    volumes = one(plain, "Deployment")["spec"]["template"]["spec"]["volumes"]
    assert {"name": "tls", "secret": {"secretName": leaf["spec"]["secretName"]}} in volumes


def test_every_manifest_of_the_extension_is_reached_by_a_kustomization(knative):
    told = [yaml.safe_load(path.read_text()) for path in HISTORY.rglob("kustomization.yaml")]
    names = {name for each in told for name in (*each["resources"], *each.get("configurations", ()))}
    reached = {name for name in names if name.endswith(".yaml")}
    assert reached == {path.name for path in HISTORY.rglob("*.yaml")} - {"kustomization.yaml"}
