"""The history's API group stands beside that of the WebApps, which a CRD serves, and takes nothing from it."""

import json

import pytest
import yaml

from functions.dev.processes import ProcessGroup
from tests.builders import webapp
from tests.cluster.admin import WEBAPP
from tests.history.trust.rig import REGISTRATION, SHIPPED, History


@pytest.fixture(scope="module")
def history(plane):
    with ProcessGroup(grace=1) as group, History(plane, group, replicas=1) as found:
        yield found


def test_webapps_are_served_by_kube_apiserver_as_before(history, plane, admin):
    registration = json.loads(plane.kubectl("get", f"apiservice/v1.{WEBAPP.group}", "-o", "json"))
    assert registration["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"]
    assert "service" not in registration["spec"]
    admin.create(WEBAPP, webapp(name="web", namespace="default"))
    assert plane.kubectl("get", "wa", "-n", "default", "-o", "name") == f"webapp.{WEBAPP.group}/web\n"
    assert "image" in plane.kubectl("explain", "webapp.spec")
    assert "outcome" in plane.kubectl("explain", "reconcile.status")
    admin.delete(WEBAPP, "default", "web")


def test_registration_is_not_one_that_a_crd_could_claim(history, plane):
    shipped = yaml.safe_load((SHIPPED / "apiservice" / "apiservice.yaml").read_text())
    groups = {each["spec"]["group"] for each in json.loads(plane.kubectl("get", "crd", "-o", "json"))["items"]}
    assert shipped["spec"]["group"] not in groups
    assert shipped["metadata"]["name"] == REGISTRATION


def test_users_of_the_built_in_roles_may_read_reconciles_where_they_are_users(history, plane):
    for role in ("view", "edit", "admin"):
        plane.kubectl("-n", "default", "create", "rolebinding", f"{role}s", f"--clusterrole={role}", f"--user={role}")
        for verb, answer in (("get", "yes"), ("list", "yes"), ("watch", "yes"), ("delete", "no"), ("create", "no")):
            asked = ("auth", "can-i", verb, "reconciles", "-n", "default", f"--as={role}")
            assert told(plane, *asked) == answer
        assert told(plane, "auth", "can-i", "list", "reconciles", "-n", "kube-system", f"--as={role}") == "no"
        plane.kubectl("get", "reconciles", "-n", "default", f"--as={role}")


def told(plane, *args):
    """`kubectl auth can-i` exits with 1 for no."""
    try:
        return plane.kubectl(*args).strip()
    except Exception as refusal:  # noqa: BLE001
        return str(refusal).rsplit(maxsplit=1)[-1]
