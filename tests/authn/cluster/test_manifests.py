"""A real API server takes the shipped manifests."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_deployment_and_static_pod_are_valid(plane):
    shipped = ROOT / "knative" / "extensions" / "authn"
    plane.kubectl("create", "namespace", "webapp-system")
    built = plane.kubectl("kustomize", str(shipped))
    taken = plane.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=built)
    assert {line.split()[0].split("/")[0] for line in taken.splitlines()} == {
        "serviceaccount",
        "configmap",
        "service",
        "deployment.apps",
        "poddisruptionbudget.policy",
    }
    pod = str(shipped / "static-pod" / "webapp-authn.yaml")
    assert "webapp-authn" in plane.kubectl("apply", "--server-side", "--dry-run=server", "-f", pod)
    assert len(plane.kubectl("kustomize", str(shipped / "cert-manager")).split("\n---\n")) == 10
