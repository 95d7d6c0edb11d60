"""`webapp certs` against a real API server."""

import base64
import json

import pytest

from functions.certs.authority import Pair
from functions.certs.command import Run
from functions.certs.store import Store, UnreadableAuthority
from functions.cli import main
from functions.webapp.errors import Conflict
from functions.webapp.resources import SYSTEM_NAMESPACE, Resource
from tests.admission.rig import api

CONFIGURATION = Resource(
    "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"
)
SECRET = Resource("", "v1", "Secret", "secrets")
SERVICE = "certs-test"


@pytest.fixture(scope="module")
def certifying(plane, admin):
    """One of our references to the Service, and one of somebody else's to a Service of that name elsewhere."""

    def webhook(namespace):
        service = {"name": SERVICE, "namespace": namespace, "port": 1}
        name = f"{namespace}.certs.example.com"
        rest = {"sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": [], "failurePolicy": "Ignore"}
        return {"name": name, "clientConfig": {"service": service}, **rest}

    admin.create(
        CONFIGURATION, {"metadata": {"name": "certs"}, "webhooks": [webhook(SYSTEM_NAMESPACE), webhook("elsewhere")]}
    )
    client = api(plane)
    yield Run(Store(client, SYSTEM_NAMESPACE), SYSTEM_NAMESPACE, [SERVICE], settle=0)
    client.close()
    admin.delete(CONFIGURATION, "", "certs")


def bundles(admin):
    webhooks = admin.get(CONFIGURATION, "", "certs")["webhooks"]
    return [base64.b64decode(each["clientConfig"].get("caBundle", "")) for each in webhooks]


def secret(admin, name):
    return {key: base64.b64decode(value) for key, value in admin.get(SECRET, SYSTEM_NAMESPACE, name)["data"].items()}


def test_first_run_makes_all_and_the_second_nothing(certifying, admin):
    done = certifying.certify()
    assert f"Secret written: {SERVICE}-tls" in done
    assert certifying.certify() == []
    made, authority = secret(admin, f"{SERVICE}-tls"), secret(admin, "webapp-ca")
    Pair.load(made["tls.crt"], made["tls.key"])
    assert made["ca.crt"] == authority["ca.crt"]
    assert bundles(admin) == [authority["ca.crt"], b""]
    assert "ca.key" not in made


def test_bundle_that_somebody_broke_is_written_again(certifying, admin):
    certifying.certify()
    found = admin.get(CONFIGURATION, "", "certs")
    found["webhooks"][0]["clientConfig"]["caBundle"] = base64.b64encode(
        secret(admin, f"{SERVICE}-tls")["tls.crt"]
    ).decode()
    admin.put(CONFIGURATION, found)
    assert certifying.certify() == ["caBundle written: ValidatingWebhookConfiguration certs"]


def test_bundle_is_everywhere_before_the_new_certificate_is(certifying, admin):
    certifying.certify()
    before = secret(admin, f"{SERVICE}-tls")
    seen = []

    def settled(_seconds):
        seen.append((bundles(admin)[0].count(b"BEGIN"), secret(admin, f"{SERVICE}-tls") == before))

    run = Run(certifying.store, SYSTEM_NAMESPACE, [SERVICE], sleep=settled)
    run.certify(rotate=True)
    assert seen == [(2, True)]
    assert secret(admin, f"{SERVICE}-tls")["tls.crt"] != before["tls.crt"]


def test_authority_that_cannot_be_read_is_never_written_over(certifying, admin):
    certifying.certify()
    good = admin.get(SECRET, SYSTEM_NAMESPACE, "webapp-ca")
    bad = base64.b64encode(b"something else").decode()
    admin.merge(SECRET, SYSTEM_NAMESPACE, "webapp-ca", {"data": {"ca.key": bad}})
    with pytest.raises(UnreadableAuthority, match=r"restore ca\.crt and ca\.key"):
        certifying.certify()
    assert secret(admin, "webapp-ca")["ca.key"] == b"something else"
    admin.merge(SECRET, SYSTEM_NAMESPACE, "webapp-ca", {"data": good["data"]})


def test_command_tells_what_it_did(plane, certifying, capsys, monkeypatch):
    certifying.certify()
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
    assert main(["certs", SERVICE]) == 0
    assert capsys.readouterr().out == "nothing is due\n"


def test_command_without_a_cluster_says_what_to_set(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert main(["certs"]) != 0
    assert "KUBECONFIG" in json.dumps(capsys.readouterr().err)


class Meddling:
    """A way to the API server on which somebody else is quicker, so many times."""

    def __init__(self, client, admin, times):
        self._client, self._admin, self.left = client, admin, times

    def send(self, call, *, timeout=10.0, attempt=1):
        if call.method == "PATCH" and self.left:
            self.left -= 1
            note = {"metadata": {"annotations": {"meddled": str(self.left)}}}
            self._admin.merge(CONFIGURATION, "", call.name, note)
        return self._client.send(call, timeout=timeout, attempt=attempt)


@pytest.mark.parametrize("times", [1, 4])
def test_registration_that_changes_meanwhile_is_read_again(certifying, admin, plane, times):
    meddling = Meddling(api(plane), admin, times)
    store = Store(meddling, SYSTEM_NAMESPACE)
    done = Run(store, SYSTEM_NAMESPACE, [SERVICE], settle=0).certify(rotate=True)
    assert "caBundle written: ValidatingWebhookConfiguration certs" in done
    assert bundles(admin) == [secret(admin, "webapp-ca")["ca.crt"], b""]
    assert meddling.left == 0


def test_registration_that_never_stands_still_is_given_up(certifying, admin, plane):
    store = Store(Meddling(api(plane), admin, 5), SYSTEM_NAMESPACE)
    with pytest.raises(Conflict):
        Run(store, SYSTEM_NAMESPACE, [SERVICE], settle=0).certify(rotate=True)
