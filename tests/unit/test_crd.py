"""The generated CRD: structural, bounded, described, and of one mind with the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from functions.dev import generate
from functions.webapp.crd import crd
from functions.webapp.model import WebApp
from tests.corpus import INVALID, VALID, Case
from tests.schema_values import accepts, json_values, values

GROUP = "platform.example.com"
[VERSION] = crd(GROUP)["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
SPEC = SCHEMA["properties"]["spec"]


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for inner, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if inner in schema:
            yield from nodes(schema[inner], f"{path}{mark}")


OURS = {path: node for path, node in nodes(SCHEMA) if path.startswith((".spec", ".status"))}


def schema_findings(webapp: Any) -> list[str]:
    """What the model finds that a schema without rules could find too."""
    try:
        WebApp.model_validate(webapp, by_alias=True, by_name=False)
    except ValidationError as error:
        return [str(found["loc"]) for found in error.errors() if found["type"] not in {"rule", "duplicate"}]
    return []


@pytest.mark.parametrize("case", VALID, ids=str)
def test_the_schema_accepts_what_the_model_accepts(case: Case):
    assert accepts(SCHEMA, case.webapp)


@pytest.mark.parametrize("case", INVALID, ids=str)
def test_the_schema_refuses_what_the_model_refuses_unless_a_rule_does(case: Case):
    assert accepts(SCHEMA, case.webapp) is case.by_rule
    assert bool(schema_findings(case.webapp)) is not case.by_rule


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(values(SPEC))
def test_what_the_schema_accepts_is_parsed_and_survives_dump_and_parse(spec: dict[str, Any]):
    webapp = {"metadata": {"name": "web"}, "spec": spec}
    assert schema_findings(webapp) == []
    try:
        parsed = WebApp.model_validate(webapp)
    except ValidationError:
        return  # one of the rules, which this schema does not speak of
    assert accepts(SCHEMA, parsed.dump())
    assert WebApp.model_validate(parsed.dump()) == parsed


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(values(SPEC), json_values, st.data())
def test_schema_and_model_agree_after_any_one_change(spec: dict[str, Any], value: Any, data: st.DataObject):
    place: Any = spec
    while True:
        keys = sorted(set(place) | {"host", "env"}) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(keys))
        inner = place.get(key) if isinstance(place, dict) else place[key]
        if not (inner and isinstance(inner, dict | list) and data.draw(st.booleans())):
            break
        place = inner
    place[key] = value
    webapp = {"metadata": {"name": "web"}, "spec": spec}
    assert accepts(SCHEMA, webapp) is not bool(schema_findings(webapp))


def test_every_field_down_to_the_leaves_is_described():
    undescribed = [path for path, node in OURS.items() if not path.endswith(("[]", "{}")) and "description" not in node]
    assert undescribed == []
    assert ".spec.env[].valueFrom.secretKeyRef.optional" in OURS
    assert ".status.conditions[].lastTransitionTime" in OURS


def test_the_schema_is_structural():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for path, node in nodes(SCHEMA):
        assert not {"$ref", "$defs", "title", "oneOf", "allOf", "const", "nullable"} & set(node), path
        if node.get("x-kubernetes-int-or-string"):
            assert node["anyOf"] == [{"type": "integer"}, {"type": "string"}]
            assert "type" not in node
        else:
            assert isinstance(node["type"], str), path
            assert "anyOf" not in node, path
        assert node.get("default", "") is not None, path


def test_everything_is_bounded():
    for path, node in OURS.items():
        match node.get("type"):
            case "string" if "enum" not in node:
                assert "maxLength" in node, path
            case "integer":
                assert {"minimum", "maximum"} <= set(node), path
            case "array":
                assert {"maxItems", "x-kubernetes-list-type"} <= set(node), path
            case "object" if "properties" not in node:
                assert "maxProperties" in node, path


def test_rules_stand_where_they_blame():
    rules = {
        path: node["x-kubernetes-validations"] for path, node in nodes(SCHEMA) if "x-kubernetes-validations" in node
    }
    assert set(rules) == {
        "",
        ".spec",
        ".spec.env[]",
        ".spec.env[].valueFrom",
        ".spec.resources",
        ".spec.securityContext.seccompProfile",
    }
    assert all("must" in rule["message"] for listed in rules.values() for rule in listed)


def test_lists_merge_by_their_keys():
    keys = {path: node.get("x-kubernetes-list-map-keys") for path, node in OURS.items() if node.get("type") == "array"}
    assert keys == {
        ".spec.env": ["name"],
        ".spec.imagePullSecrets": ["name"],
        ".spec.securityContext.supplementalGroups": None,
        ".status.conditions": ["type"],
    }


@pytest.mark.parametrize("group", [GROUP, "mycompany.com"])
def test_the_group_is_the_only_difference_between_dialects(group: str):
    definition = crd(group)
    assert definition["metadata"]["name"] == f"webapps.{group}"
    assert definition["spec"]["group"] == group
    assert definition["spec"]["versions"] == crd(GROUP)["spec"]["versions"]


def test_definitions_share_nothing_that_a_caller_could_change():
    first = crd(GROUP)
    first["spec"]["versions"][0]["additionalPrinterColumns"].clear()
    first["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].clear()
    assert crd(GROUP)["spec"]["versions"] == [VERSION]


def test_generated_files_are_fresh():
    assert generate.stale() == ""


def test_a_stale_file_fails_the_check_with_a_diff_until_it_is_written(tmp_path: Path):
    path, _ = generate.FILES[0]
    assert generate.write(tmp_path) == [path for path, _ in generate.FILES]
    assert generate.stale(tmp_path) == ""
    target = tmp_path / path
    target.write_text(target.read_text(encoding="utf-8").replace("maximum: 65535", "maximum: 65536"), encoding="utf-8")
    assert "-                maximum: 65536\n+                maximum: 65535" in generate.stale(tmp_path)
    assert generate.write(tmp_path) == [path]
    assert generate.stale(tmp_path) == ""
    assert generate.write(tmp_path) == []
