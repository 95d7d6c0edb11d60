"""The history's API beside that of the WebApps, which a CRD serves, and before users of the roles they hold already."""

import json
import socket
import ssl

import pytest
import yaml

from functions.dev.cluster import KubectlError
from functions.dev.processes import LOOPBACK, ProcessGroup
from tests.aggregation.trust.rig import ask
from tests.builders import webapp
from tests.cluster.admin import WEBAPP, until
from tests.history.trust.rig import ALL, RECONCILES, REGISTRATION, SHIPPED, History


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
    until(lambda: "outcome" in told(plane, "explain", "reconcile.status"))  # its OpenAPI is fetched in the background
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


def test_forged_headers_on_a_direct_call_are_refused_also_with_a_users_certificate(history, plane, tmp_path):
    forged = [("X-Remote-User", "root"), ("X-Remote-Group", "system:masters")]
    mallory = plane.authorities.users.issue("front-proxy-client", ["system:masters"], folder=tmp_path)
    for port in history.backends:
        for certificate in (None, mallory):
            for path in (ALL, "/apis", "/healthz", RECONCILES.root):
                assert direct(history, port, path, forged, certificate) == (401, "Unauthorized")


def test_service_account_of_one_namespace_is_refused_elsewhere(history, plane):
    plane.kubectl("-n", "default", "create", "serviceaccount", "reader")
    reader = ("-n", "default", "create", "rolebinding", "reader", "--clusterrole=view")
    plane.kubectl(*reader, "--serviceaccount=default:reader")
    account = plane.service_account_kubeconfig("default", "reader")
    plane.kubectl("get", "rec", "-n", "default", kubeconfig=account)
    refusal = (
        r'reconciles.history.platform.example.com is forbidden: User "system:serviceaccount:default:reader" cannot'
    )
    with pytest.raises(KubectlError, match=refusal):
        plane.kubectl("get", "rec", "-n", "kube-system", kubeconfig=account)
    with pytest.raises(KubectlError, match=refusal):
        plane.kubectl("get", "rec", "-A", kubeconfig=account)


def direct(history, port, path, headers, certificate):
    """Status and reason of a call that does not come through kube-apiserver."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate.certificate, certificate.key)
    with socket.create_connection((LOOPBACK, port), 10) as plain, context.wrap_socket(plain) as secure:
        status, body = ask(secure, headers, path)
    return status, body["reason"]


def told(plane, *args):
    """What kubectl prints, or the last word of its error; `kubectl auth can-i` exits with 1 for no."""
    try:
        return plane.kubectl(*args).strip()
    except KubectlError as refusal:
        return str(refusal).rsplit(maxsplit=1)[-1]
