"""WebApps that are older than the CRD that would refuse them: told by field, no child written, healed by an edit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy

import pytest

from functions.dev.controlplane import ControlPlane
from functions.webapp.errors import Rejected
from functions.webapp.resources import DEPLOYMENT, SERVICE
from tests.builders import hosted, webapp
from tests.cluster.admin import CRD, WEBAPP, Admin, Raw, until
from tests.cluster.sender import Function, Sender

NAME = "webapps.platform.example.com"
LOOSE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class Schema:
    """The CRD's schema: as it was once, and as it is."""

    def __init__(self, admin: Admin, namespace: str) -> None:
        self._admin = admin
        self._strict = admin.get(CRD, "", NAME)["spec"]
        self._probe = webapp(name="probe", namespace=namespace, port=0)

    def loosen(self) -> None:
        """Accept any spec and any name, as an older version did."""
        loose = deepcopy(self._strict)
        loose["versions"][0].pop("selectableFields", None)
        schema = loose["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["spec"] = LOOSE
        del schema["x-kubernetes-validations"]
        self._install(loose)
        until(self._accepts)

    def restore(self) -> None:
        """The schema as shipped."""
        self._install(self._strict)
        until(lambda: not self._accepts())

    def _install(self, spec: Raw) -> None:
        found = self._admin.get(CRD, "", NAME)
        self._admin.put(CRD, {**found, "spec": spec})

    def _accepts(self) -> bool:
        with suppress(Rejected):
            self._admin.create(WEBAPP, self._probe)
            self._admin.delete(WEBAPP, self._probe["metadata"]["namespace"], "probe")
            return True
        return False


@pytest.fixture
def schema(admin: Admin, namespace: str) -> Iterator[Schema]:
    found = Schema(admin, namespace)
    yield found
    found.restore()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"port": 70000}, "spec.port: 70000 must be at most 65535"),
        ({"env": [{"name": "A", "value": 5}]}, "spec.env[0].value: must be a string: put it in quotes"),
        (
            {"tlsSecretName": "tls"},
            'spec.tlsSecretName: "tls" must not be set without host: set spec.host or remove it',
        ),
        ({"image": None}, "spec.image: must be set"),
    ],
    ids=str,
)  # fmt: skip
def test_an_invalid_spec_is_told_by_field_and_heals_by_an_edit(sender, schema, spec, message):
    sender.deploy(webapp(hosted, replicas=0))
    before = sender.children()
    schema.loosen()
    sender.edit(**{"host": None, **spec})
    schema.restore()

    answer = sender.send()
    assert (answer.status, answer.outcome) == (204, "blocked")
    assert answer.writes == ["update webapps/status", "create events"]
    assert "webapp-requeue-after" not in answer.headers  # only an edit can help
    assert sender.condition("Degraded") == ("True", "InvalidSpec", message)
    assert sender.condition("Ready") == ("False", "InvalidSpec", message)
    assert sender.webapp()["status"]["observedGeneration"] == sender.webapp()["metadata"]["generation"]
    assert sender.send().requests == []
    assert sender.send(None).writes == []
    assert sender.children() == before

    sender.edit(**{**dict.fromkeys(spec), "image": "nginx:1.28", "replicas": 0})
    assert sender.send().outcome == "updated"
    assert sender.condition("Degraded")[:2] == ("False", "AsExpected")
    assert sender.child(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.28"
    assert sender.children()["Ingress"] is None


def test_an_invalid_webapp_never_gets_children(sender, schema):
    schema.loosen()
    sender.apply(webapp(port=0))
    schema.restore()
    assert sender.send(None).outcome == "blocked"
    assert not any(sender.children().values())
    sender.edit(port=81)
    assert sender.send().outcome == "created"
    assert sender.child(SERVICE)["spec"]["ports"][0]["port"] == 81


def test_a_name_that_no_service_can_have_is_answered_as_blocked(
    cluster: ControlPlane, admin: Admin, namespace: str, function: Function, schema: Schema
):
    sender = Sender(cluster, admin, namespace, function, name="9.web")
    schema.loosen()
    sender.apply(webapp())
    schema.restore()
    for _ in range(2):  # not even the status of such an object can be written: the rule is about the whole of it
        answer = sender.post(sender.event(), prefer="return=representation")
        assert (answer.status, answer.outcome) == (200, "blocked")
        assert answer.json["message"].startswith('metadata.name: "9.web" must be a DNS label')
        assert "webapp-requeue-after" not in answer.headers
    assert not any(sender.children().values())
