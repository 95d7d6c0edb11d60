"""What a WebApp asks for: each optional field on both sides, set and unset."""

from __future__ import annotations

from typing import Any

import pytest

from functions.webapp import desired, model
from functions.webapp.overlay import operations, render
from functions.webapp.resources import DEPLOYMENT, INGRESS, OWNED, SERVICE, RawObject, Resource
from tests.builders import UID, WEBAPP, asking, children, described, hosted, stored, webapp, with_meta
from tests.corpus import VALID, Case
from tests.json_patch import apply

ENV = [
    {"name": "PLAIN", "value": "1"},
    {"name": "EMPTY", "value": ""},
    {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
    {"name": "CONFIG", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
    {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
]
OPTIONAL: dict[str, Any] = {
    "replicas": 3,
    "port": 8080,
    "env": ENV,
    "resources": {"requests": {"cpu": "1"}},
    "nodeSelector": {"disk": "ssd"},
    "imagePullSecrets": [{"name": "registry"}],
    "securityContext": {"runAsNonRoot": True, "supplementalGroups": [1], "seccompProfile": {"type": "RuntimeDefault"}},
    "readinessPath": "/healthz",
}


def asked(owner: dict[str, Any], ingress: RawObject | None = None) -> dict[Resource, Any]:
    return {each: desired.child(each, owner, model.parse(owner), WEBAPP, ingress) for each in OWNED}


def test_children_carry_name_labels_and_one_controller_reference():
    for resource, child in children(webapp(hosted, stored)).items():
        assert child is not None
        assert (child["apiVersion"], child["kind"]) == (resource.api_version, resource.kind)
        assert (child["metadata"]["name"], child["metadata"]["namespace"]) == ("web", "team")
        assert child["metadata"]["labels"] == {
            "app": "web",
            "app.kubernetes.io/name": "web",
            "app.kubernetes.io/instance": "web",
            "app.kubernetes.io/managed-by": "webapp-operator",
        }
        assert child["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "platform.example.com/v1",
                "kind": "WebApp",
                "name": "web",
                "uid": UID,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]


def test_a_plain_webapp_renders_the_least_that_serves():
    owner = webapp(stored)
    deployment, service, ingress = (children(owner)[each] for each in (DEPLOYMENT, SERVICE, INGRESS))
    assert ingress is None
    assert deployment is not None
    assert service is not None
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["selector"] == {"matchLabels": {"app": "web"}}
    assert deployment["spec"]["template"]["spec"] == {
        "containers": [
            {
                "name": "app",
                "image": "nginx:1.27",
                "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
                "resources": {
                    "requests": {"cpu": "50m", "memory": "64Mi"},
                    "limits": {"cpu": "500m", "memory": "128Mi"},
                },
                "readinessProbe": {"tcpSocket": {"port": 80}},
            }
        ]
    }
    assert service["spec"] == {
        "selector": {"app": "web"},
        "ports": [{"name": "http", "port": 80, "targetPort": 80, "protocol": "TCP"}],
    }


def test_selector_is_the_name_alone_for_it_can_never_change():
    deployment = children(webapp(stored))[DEPLOYMENT]
    assert deployment is not None
    assert deployment["spec"]["selector"]["matchLabels"] == {"app": "web"}
    assert deployment["spec"]["template"]["metadata"]["labels"].items() >= {"app": "web"}.items()


def test_autoscaled_leaves_replicas_unsaid():
    deployment = children(webapp(stored, autoscaled=True, replicas=7))[DEPLOYMENT]
    assert deployment is not None
    assert "replicas" not in deployment["spec"]


def test_ingress_serves_the_host_on_the_service_by_number():
    ingress = children(webapp(hosted, stored, port=8080))[INGRESS]
    assert ingress is not None
    backend = {"service": {"name": "web", "port": {"number": 8080}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    assert ingress["spec"] == {"rules": [{"host": "web.example.com", "http": {"paths": [path]}}]}


def test_tls_names_the_secret_and_turns_the_url_to_https():
    owner = webapp(hosted, stored, tlsSecretName="web-tls")
    ingress = children(owner)[INGRESS]
    assert ingress is not None
    assert ingress["spec"]["tls"] == [{"hosts": ["web.example.com"], "secretName": "web-tls"}]
    assert desired.url(model.parse(owner)) == "https://web.example.com/"
    assert desired.url(model.parse(webapp(hosted))) == "http://web.example.com/"
    assert desired.url(model.parse(webapp())) is None


@pytest.mark.parametrize("field", OPTIONAL)
def test_a_field_that_comes_and_goes_comes_and_goes_in_the_children(field: str):
    plain = webapp(hosted, stored)
    rich = described(plain, asking(**{field: OPTIONAL[field]}))
    bare, full = children(plain), children(rich)
    for resource in (DEPLOYMENT, SERVICE, INGRESS):
        forth = operations(bare[resource], asked(rich)[resource])
        back = operations(full[resource], asked(plain)[resource])
        assert apply(bare[resource], forth) == full[resource]
        assert operations(apply(full[resource], back), asked(plain)[resource]) == []
        assert bool(forth) == bool(back) == (bare[resource] != full[resource])
    assert bare[DEPLOYMENT] != full[DEPLOYMENT]


def test_a_probe_that_somebody_made_another_kind_is_ours_again():
    probed = {"exec": {"command": ["true"]}, "grpc": {"port": 1}, "periodSeconds": 3}
    owner = webapp(stored)
    (deployment,) = (child for child in children(owner).values() if child and child["kind"] == "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = probed
    after = apply(deployment, operations(deployment, asked(owner)[DEPLOYMENT]))
    probe = after["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]
    assert probe == {"tcpSocket": {"port": 80}, "periodSeconds": 3}


def defaulted(ingress: RawObject | None) -> RawObject:
    """The Ingress with the class that the DefaultIngressClass admission plugin gave it."""
    assert ingress is not None
    return {**ingress, "spec": {**ingress["spec"], "ingressClassName": "cluster-default"}}


def test_the_clusters_default_ingress_class_is_left_alone():
    owner = webapp(hosted, stored)
    observed = defaulted(children(owner)[INGRESS])
    assert operations(observed, asked(owner, observed)[INGRESS]) == []


def test_an_ingress_class_that_the_webapp_named_goes_with_its_annotation():
    named = webapp(hosted, stored, ingressClassName="nginx")
    observed = children(named)[INGRESS]
    assert observed is not None
    assert observed["spec"]["ingressClassName"] == "nginx"
    plain = described(named, asking(ingressClassName=None))
    after = apply(observed, operations(observed, asked(plain, observed)[INGRESS]))
    assert "ingressClassName" not in after["spec"]
    assert after["metadata"]["annotations"] == {}
    assert operations(after, asked(plain, after)[INGRESS]) == []


@pytest.mark.parametrize("case", VALID, ids=str)
def test_what_every_valid_webapp_asks_for_is_stable(case: Case):
    owner = described(case.webapp, stored, with_meta(namespace="team"))
    for child in asked(owner).values():
        if child is not None:
            assert operations(render(child), child) == []
