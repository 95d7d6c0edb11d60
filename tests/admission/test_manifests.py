"""The shipped manifests: what the API server takes, and what must hold between them."""

import pytest

from functions.admission.settings import Settings
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.admission.rig import MANIFESTS, SERVICE, shipped


def of_kind(manifests, kind):
    return [each for each in manifests if each["kind"] == kind]


@pytest.mark.parametrize("overlay", [".", "policy"])
def test_every_manifest_is_accepted_by_the_api_server(plane, overlay):
    wanted = shipped(plane, overlay)
    strictly = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
    text = plane.kubectl("kustomize", str(MANIFESTS / overlay))
    assert len(plane.kubectl(*strictly, stdin=text).splitlines()) == len(wanted)


def test_deployment_passes_the_guard_that_it_serves(plane):
    (deployment,) = of_kind(shipped(plane), "Deployment")
    spec = deployment["spec"]["template"]["spec"]
    assert Settings.load({"SIDECAR_TEMPLATE": str(MANIFESTS / "base" / "sidecar.yaml")}).guard.violations(spec) == []
    assert spec["terminationGracePeriodSeconds"] >= 30 + 10
    assert spec["automountServiceAccountToken"] is False
    assert deployment["spec"]["replicas"] == 2


def test_webhooks_are_those_of_the_service_and_fail_fast(plane):
    kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    webhooks = [each for kind in kinds for found in of_kind(shipped(plane), kind) for each in found["webhooks"]]
    for webhook in webhooks:
        service = webhook["clientConfig"]["service"]
        assert (service["namespace"], service["name"]) == (SYSTEM_NAMESPACE, SERVICE)
        assert 3 <= webhook["timeoutSeconds"] <= 5
        assert webhook["sideEffects"] == "None"
        assert webhook["admissionReviewVersions"] == ["v1"]
        (names,) = [
            each["values"]
            for each in webhook["namespaceSelector"]["matchExpressions"]
            if each["key"] == "kubernetes.io/metadata.name"
        ]
        assert {SYSTEM_NAMESPACE, "kube-system", "knative-serving", "cert-manager"} <= set(names)


def test_cert_manager_overlay_differs_by_certificates_alone(plane):
    plain, managed = shipped(plane), shipped(plane, "cert-manager")
    added = [each for each in managed if each["apiVersion"].startswith("cert-manager.io/")]
    assert [each["kind"] for each in added] == ["Certificate", "Certificate", "Issuer", "Issuer"]
    (leaf,) = [each for each in added if each["metadata"]["name"] == SERVICE]
    assert leaf["spec"]["dnsNames"] == [f"{SERVICE}.{SYSTEM_NAMESPACE}.svc"]
    injected = [each for each in managed if "cert-manager.io/inject-ca-from" in each["metadata"].get("annotations", {})]
    assert {each["kind"] for each in injected} == {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
    assert len(managed) == len(plain) + len(added)
