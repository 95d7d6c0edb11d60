"""Objects that stand in the way, and what other people put into the children: refused, or left alone."""

from __future__ import annotations

import pytest

from functions.webapp.contract import Change
from functions.webapp.resources import DEPLOYMENT, INGRESS, OWNED, SERVICE, Resource
from tests.builders import foreign, hosted, webapp
from tests.cluster.admin import WEBAPP, Raw, until

INGRESS_CLASS = Resource("networking.k8s.io", "v1", "IngressClass", "ingressclasses")


@pytest.mark.parametrize("resource", OWNED, ids=lambda each: each.kind)
def test_a_foreign_object_of_the_name_is_refused_and_the_webapp_heals_once_it_is_gone(sender, resource):
    sender.admin.create(resource, foreign(resource, "web", sender.namespace))
    theirs = sender.child(resource)
    sender.apply(webapp(hosted, replicas=0))

    blocked = sender.send()
    assert (blocked.status, blocked.outcome) == (204, "blocked")
    assert blocked.headers["webapp-requeue-after"] == "60"
    message = f"{resource.kind} 'web' exists and is not controlled by this WebApp"
    for type_, status in (("Ready", "False"), ("Degraded", "True")):
        told = sender.condition(type_)
        assert (told[:2], told[2].partition(":")[0]) == ((status, "NameConflict"), message)
    assert sender.child(resource)["spec"] == theirs["spec"]
    assert sender.child(resource)["metadata"].get("ownerReferences") is None

    if resource is not DEPLOYMENT:
        sender.wait_available()
    sender.settle()
    again = sender.send(reason="requeue")
    assert (again.writes, again.outcome) == ([], "blocked")
    assert again.headers["webapp-requeue-after"] == "60"

    sender.admin.delete(resource, sender.namespace, "web")
    sender.admin.wait_gone(resource, sender.namespace, "web")
    healed = sender.send(reason="requeue")
    assert (healed.status, healed.outcome) == (204, "created")
    assert "webapp-requeue-after" not in healed.headers
    assert sender.condition("Degraded")[:2] == ("False", "AsExpected")
    assert len(sender.snapshot()["owned"]) == 3


def test_other_children_are_written_although_one_is_in_the_way(sender):
    sender.admin.create(DEPLOYMENT, foreign(DEPLOYMENT, "web", sender.namespace))
    sender.apply(webapp(hosted))
    sender.send()
    assert {child["kind"] for child in sender.snapshot()["owned"]} == {"Service", "Ingress"}


def test_a_child_of_an_earlier_webapp_is_in_the_way_until_it_is_collected(sender):
    sender.deploy(webapp(replicas=0))
    old, event = sender.webapp()["metadata"]["uid"], sender.event()
    sender.admin.delete(WEBAPP, sender.namespace, "web", policy="Orphan")
    sender.admin.wait_gone(WEBAPP, sender.namespace, "web")
    sender.apply(webapp(replicas=0))
    assert sender.webapp()["metadata"]["uid"] != old
    assert sender.post(event).writes == []
    assert sender.send().outcome == "blocked"
    for resource in (DEPLOYMENT, SERVICE):
        sender.admin.delete(resource, sender.namespace, "web")
        sender.admin.wait_gone(resource, sender.namespace, "web")
    assert sender.send(of=SERVICE, change=Change.DELETED).outcome == "created"
    assert sender.condition("Degraded")[1] == "AsExpected"


def test_what_other_people_put_into_the_children_is_left_alone(sender):
    sender.deploy(webapp(hosted, replicas=1))
    theirs: dict[Resource, Raw] = {
        DEPLOYMENT: {
            "minReadySeconds": 1,
            "template": {
                "metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "noon"}},
                "spec": {
                    "terminationGracePeriodSeconds": 5,
                    "securityContext": {"sysctls": [{"name": "net.ipv4.tcp_fin_timeout", "value": "1"}]},
                },
            },
        },
        SERVICE: {"type": "LoadBalancer", "sessionAffinity": "ClientIP"},
        INGRESS: {"ingressClassName": "theirs"},
    }
    for resource, spec in theirs.items():
        notes = {"labels": {"theirs": "1"}, "annotations": {"theirs": "1"}, "finalizers": ["example.org/theirs"]}
        sender.admin.merge(resource, sender.namespace, "web", {"metadata": notes, "spec": spec})
    container = sender.child(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]
    with_more = {**container, "command": ["x"], "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    pod = {"containers": [{"name": "sidecar", "image": "envoy:3"}, with_more], "volumes": [{"name": "v"}]}
    sender.admin.merge(DEPLOYMENT, sender.namespace, "web", {"spec": {"template": {"spec": pod}}})
    sender.wait_available()
    sender.settle()

    before = sender.children()
    sender.edit(image="nginx:1.28", port=8080, host="other.example.com")
    sender.send()
    sender.wait_available()
    sender.settle()
    after = sender.children()
    deployment = after["Deployment"]
    sidecar, app = deployment["spec"]["template"]["spec"]["containers"]
    assert (app["image"], app["command"], app["volumeMounts"]) == ("nginx:1.28", ["x"], with_more["volumeMounts"])
    assert sidecar["image"] == "envoy:3"
    assert deployment["spec"]["minReadySeconds"] == 1
    assert deployment["spec"]["template"]["metadata"]["annotations"] == {"kubectl.kubernetes.io/restartedAt": "noon"}
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 5
    assert deployment["spec"]["template"]["spec"]["securityContext"]["sysctls"]
    service, old = after["Service"]["spec"], before["Service"]["spec"]
    assert (service["type"], service["sessionAffinity"]) == ("LoadBalancer", "ClientIP")
    assert service["ports"][0]["nodePort"] == old["ports"][0]["nodePort"]
    assert service["clusterIP"] == old["clusterIP"]
    assert after["Ingress"]["spec"]["ingressClassName"] == "theirs"
    for child in after.values():
        assert child["metadata"]["labels"]["theirs"] == child["metadata"]["annotations"]["theirs"] == "1"
        assert child["metadata"]["finalizers"] == ["example.org/theirs"]
    for resource in OWNED:  # so that the namespace can go
        sender.admin.merge(resource, sender.namespace, "web", {"metadata": {"finalizers": None}})


def test_replicas_of_an_autoscaled_webapp_are_the_autoscalers(sender):
    sender.deploy(webapp(replicas=1, autoscaled=True))
    sender.admin.merge(DEPLOYMENT, sender.namespace, "web", {"spec": {"replicas": 3}}, "scale")
    sender.wait_available()
    answer = sender.send(of=DEPLOYMENT)
    assert answer.writes == ["update webapps/status"]
    assert sender.child(DEPLOYMENT)["spec"]["replicas"] == 3
    assert sender.condition("Ready") == ("True", "Available", "3 of 3 are available")
    assert sender.send().requests == []
    sender.edit(autoscaled=False)
    sender.send()
    assert sender.child(DEPLOYMENT)["spec"]["replicas"] == 1


def test_the_clusters_default_ingress_class_is_left_alone(sender):
    marked = {"name": "default-class", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
    sender.admin.create(INGRESS_CLASS, {"metadata": marked, "spec": {"controller": "example.org/default"}})
    try:
        probe = foreign(INGRESS, "probe", sender.namespace)

        def defaulted() -> bool:  # the admission plugin learns of the class by a watch
            found = sender.admin.create(INGRESS, probe)
            sender.admin.delete(INGRESS, sender.namespace, "probe")
            return "ingressClassName" in found["spec"]

        until(defaulted)
        sender.deploy(webapp(hosted, replicas=0))
        assert sender.child(INGRESS)["spec"]["ingressClassName"] == "default-class"
        assert sender.send().requests == []
        sender.edit(ingressClassName="named")
        sender.send()
        assert sender.child(INGRESS)["spec"]["ingressClassName"] == "named"
        sender.edit(ingressClassName=None)
        sender.send()
        ingress = sender.child(INGRESS)
        assert "ingressClassName" not in ingress["spec"]  # the plugin acts on creates alone
        assert "platform.example.com/ingress-class" not in ingress["metadata"].get("annotations", {})
        sender.settle()
    finally:
        sender.admin.delete(INGRESS_CLASS, "", "default-class")
