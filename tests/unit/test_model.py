"""The WebApp model: its verdict on the corpus, its defaults, and what its errors say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from functions.webapp.blame import MAX_MESSAGE
from functions.webapp.condition import ConditionType, Reason
from functions.webapp.errors import InvalidSpec
from functions.webapp.fields import NAME, WORDS
from functions.webapp.model import EnvVar, Resources, WebAppSpec, parse
from functions.webapp.status_model import Condition, WebAppStatus
from tests.corpus import INVALID, VALID, Case
from tests.schema_values import json_values


def webapp(name: Any = "web", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"image": "nginx:1.27", **spec}}


def complaint(raw: dict[str, Any]) -> str:
    with pytest.raises(InvalidSpec) as caught:
        parse(raw)
    return str(caught.value)


@pytest.mark.parametrize("case", VALID, ids=str)
def test_valid_webapps_survive_parse_dump_parse(case: Case):
    spec = parse(case.webapp)
    assert parse({**case.webapp, "spec": spec.dump()}) == spec


@pytest.mark.parametrize("case", INVALID, ids=str)
def test_invalid_webapps_blame_the_field_in_a_bounded_message(case: Case):
    with pytest.raises(InvalidSpec) as caught:
        parse(case.webapp)
    assert caught.value.field == case.blames
    message = str(caught.value).removeprefix(f"{case.blames}: ")
    assert "must" in message
    assert len(message) <= MAX_MESSAGE
    assert complaint(case.webapp) == str(caught.value)


def test_the_corpus_holds_both_dialects_and_enough_cases():
    assert {case.webapp["apiVersion"] for case in VALID} == {"platform.example.com/v1", "mycompany.com/v1"}
    assert len(VALID) >= 20
    assert len(INVALID) >= 80


def test_an_image_is_enough_and_the_rest_has_defaults():
    spec = parse(webapp())
    assert spec.dump() == {
        "image": "nginx:1.27",
        "replicas": 1,
        "port": 80,
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "128Mi"}},
        "paused": False,
        "autoscaled": False,
    }
    assert spec.host is None
    assert spec.env is None


def test_given_resources_replace_the_default_as_a_whole():
    assert parse(webapp(resources={"requests": {"cpu": 2}})).resources == Resources(requests={"cpu": "2"})
    assert parse(webapp(resources={})).resources.dump() == {}
    assert parse(webapp(resources=None)).resources == parse(webapp()).resources


def test_integer_quantities_become_text():
    limits = parse(webapp(resources={"limits": {"cpu": 2, "memory": 134217728}})).resources.limits
    assert limits == {"cpu": "2", "memory": "134217728"}


def test_python_names_are_not_read_from_json():
    spec = parse(webapp(host="blog.example.com", tls_secret_name="blog-tls"))
    assert spec.tls_secret_name is None


def test_python_names_build_parts_and_json_names_leave_them():
    spec = WebAppSpec(image="nginx", host="a.example.com", tls_secret_name="a", env=[EnvVar(name="A", value="b")])
    assert spec.dump()["tlsSecretName"] == "a"
    assert spec.dump()["env"] == [{"name": "A", "value": "b"}]


def test_specs_cannot_be_changed():
    with pytest.raises(ValidationError, match="frozen"):
        parse(webapp()).replicas = 2


def test_rules_hold_for_parts_built_in_python_too():
    with pytest.raises(ValidationError, match="without host"):
        WebAppSpec(image="nginx", tls_secret_name="a")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (webapp(port=70000), "spec.port: 70000 must be at most 65535"),
        (webapp(port=0), "spec.port: 0 must be at least 1"),
        (webapp(port="80"), 'spec.port: "80" must be an integer'),
        (webapp(image=7), "spec.image: 7 must be a string: put it in quotes"),
        (webapp(image=""), 'spec.image: "" must not be empty'),
        (webapp(paused="yes"), 'spec.paused: "yes" must be true or false'),
        (webapp(env={}), "spec.env: {} must be a list"),
        (webapp(host="192.0.2.7"), 'spec.host: "192.0.2.7" must be a DNS name, not an IP address'),
        (
            webapp(tlsSecretName="blog-tls"),
            'spec.tlsSecretName: "blog-tls" must not be set without host: set spec.host or remove it',
        ),
        (webapp(env=[{"name": "A"}, {"name": "A"}]), "spec.env[1]: must not have name A twice: remove one of the two"),
        (
            webapp(securityContext={"fsGroupChangePolicy": "Never"}),
            "spec.securityContext.fsGroupChangePolicy: \"Never\" must be 'OnRootMismatch' or 'Always'",
        ),
        (
            webapp(securityContext={"seccompProfile": {"type": "Localhost"}}),
            "spec.securityContext.seccompProfile.localhostProfile: must be set if type is Localhost, and only then",
        ),
        (
            webapp(resources={"limits": {"cpu": 0.5}}),
            "spec.resources.limits.cpu: 0.5 must be an integer or a string: put it in quotes",
        ),
        ({"metadata": {"name": "web"}}, "spec: must be set"),
        ({"spec": {"image": "nginx"}}, "metadata: must be set"),
        (
            webapp(name="9lives"),
            f'metadata.name: "9lives" must be {WORDS[NAME]}',
        ),
    ],
    ids=lambda value: value.partition(" ")[0] if isinstance(value, str) else "",
)
def test_errors_name_field_value_and_cure(raw: dict[str, Any], expected: str):
    assert complaint(raw) == expected


def test_the_first_wrong_field_in_the_order_of_the_model_is_blamed():
    assert complaint(webapp(paused=1, port=0, replicas=-1)).startswith("spec.replicas: -1 ")


@pytest.mark.parametrize("value", [4711, "4711" * 10000, ["4711"]], ids=["number", "too long", "list"])
def test_values_of_variables_are_never_quoted(value: Any):
    told = complaint(webapp(env=[{"name": "PIN", "value": value}]))
    assert told.startswith("spec.env[0].value: must ")
    assert "4711" not in told


def test_huge_keys_and_values_are_cut():
    told = complaint(webapp(nodeSelector={"k" * 10000: ["v" * 10000]}))
    assert told.startswith("spec.nodeSelector.kkk")
    assert "vvv" in told
    assert len(told) < 2 * MAX_MESSAGE


def test_status_takes_reasons_and_types_of_other_writers():
    raw = {
        "observedGeneration": 3,
        "readyReplicas": 2,
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "reason": reason,
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "observedGeneration": 3,
            }
            for kind, reason in (("Ready", Reason.AVAILABLE.value), ("example.com/Audited", "Clean"))
        ],
    }
    assert WebAppStatus.model_validate(raw).dump() == raw


def test_condition_members_take_the_enumerations():
    condition = Condition(
        type=ConditionType.READY,
        status="False",
        reason=Reason.NAME_CONFLICT,
        message="taken",
        last_transition_time="2026-01-01T00:00:00Z",
    )
    assert condition.dump()["type"] == "Ready"
    assert condition.dump()["reason"] == "NameConflict"


@given(json_values, json_values)
def test_any_json_is_parsed_or_called_an_invalid_spec(metadata: Any, spec: Any):
    try:
        parse({"metadata": metadata, "spec": spec})
    except InvalidSpec as invalid:
        blamed = invalid.field
    else:
        blamed = "spec"
    assert blamed.partition(".")[0] in {"metadata", "spec"}
