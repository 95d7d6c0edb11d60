"""The CRD on a real API server: one verdict with the model, and everything kubectl shows of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from functions.dev.cluster import KubectlError
from functions.dev.controlplane import ControlPlane
from functions.webapp.crd import crd
from functions.webapp.errors import InvalidSpec
from functions.webapp.model import parse
from functions.webapp.resources import DEFAULT_GROUP
from tests.corpus import FOLDER, INVALID, VALID, Case

CRD = f"crd/webapps.{DEFAULT_GROUP}"
SPEC = crd(DEFAULT_GROUP)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]


@pytest.fixture(scope="module")
def sandbox(cluster: ControlPlane) -> Iterator[str]:
    """One namespace for all dry runs."""
    cluster.kubectl("create", "namespace", "crd-corpus")
    yield "crd-corpus"
    cluster.kubectl("delete", "namespace", "crd-corpus", "--wait=false")


@pytest.fixture
def dialect(cluster: ControlPlane) -> Iterator[str]:
    """The other public group, served for one test."""
    group = "mycompany.com"
    cluster.apply(crd(group))
    cluster.kubectl("wait", "--for=condition=Established", f"crd/webapps.{group}", "--timeout=30s")
    yield group
    cluster.kubectl("delete", f"crd/webapps.{group}")


def dry_run(cluster: ControlPlane, webapp: dict[str, Any], namespace: str, *flags: str) -> dict[str, Any]:
    """Let the API server judge and default a WebApp of either dialect; nothing is stored."""
    moved = {
        **webapp,
        "apiVersion": f"{DEFAULT_GROUP}/v1",
        "metadata": {**webapp["metadata"], "namespace": namespace},
    }
    flags = flags or ("--validate=ignore",)
    answer = cluster.kubectl("apply", "--dry-run=server", *flags, "-o", "json", "-f", "-", stdin=json.dumps(moved))
    found: dict[str, Any] = json.loads(answer)
    return found


def webapp(name: str = "web", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{DEFAULT_GROUP}/v1",
        "kind": "WebApp",
        "metadata": {"name": name},
        "spec": {"image": "nginx:1.27", **spec},
    }


def leaves(schema: dict[str, Any], path: str) -> Iterator[str]:
    for name, child in schema["properties"].items():
        inner = child.get("items", child)
        yield f"{path}.{name}"
        if "properties" in inner:
            yield from leaves(inner, f"{path}.{name}")


@pytest.mark.parametrize("case", VALID, ids=str)
def test_the_api_server_accepts_what_the_model_accepts_and_both_read_it_alike(cluster, sandbox, case: Case):
    stored = dry_run(cluster, case.webapp, sandbox)
    assert parse(stored) == parse(case.webapp)


@pytest.mark.parametrize("case", INVALID, ids=str)
def test_the_api_server_refuses_what_the_model_refuses_and_blames_the_same_field(cluster, sandbox, case: Case):
    with pytest.raises(InvalidSpec) as ours:
        parse(case.webapp)
    with pytest.raises(KubectlError) as theirs:
        dry_run(cluster, case.webapp, sandbox)
    blamed = re.findall(r"^(?:\* |.* is invalid: )(\S+): ", str(theirs.value), flags=re.MULTILINE)
    assert ours.value.field in blamed


@pytest.mark.parametrize(
    "name",
    [
        "env-two-sources",
        "env-value-and-source",
        "host-ip-address",
        "name-with-dot",
        "node-selector-bad-key",
        "seccomp-localhost-without-profile",
        "tls-without-host",
    ],
)
def test_rules_are_told_in_the_same_words_as_by_the_model(cluster, sandbox, name: str):
    [case] = [case for case in INVALID if case.name == name]
    with pytest.raises(InvalidSpec) as ours:
        parse(case.webapp)
    with pytest.raises(KubectlError) as theirs:
        dry_run(cluster, case.webapp, sandbox)
    told = str(ours.value).removeprefix(f"{case.blames}: ")
    assert re.sub(r'^".*?" ', "", told) in str(theirs.value)


def test_kubectl_names_unknown_fields_when_asked_to_be_strict(cluster, sandbox):
    with pytest.raises(KubectlError, match=r'unknown field "spec.colour"'):
        dry_run(cluster, webapp(colour="blue"), sandbox, "--validate=strict")


def test_the_api_server_finds_nothing_wrong_with_the_crd(cluster):
    definition = json.loads(cluster.kubectl("get", CRD, "-o", "json"))
    conditions = {condition["type"]: condition["status"] for condition in definition["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    generated = crd(DEFAULT_GROUP)["spec"]["versions"][0]["schema"]
    assert definition["spec"]["versions"][0]["schema"] == generated


def test_explain_reaches_every_leaf_with_a_description(cluster):
    tree = cluster.kubectl("explain", f"webapps.{DEFAULT_GROUP}.spec", "--recursive")
    paths = list(leaves(SPEC, "webapps.spec"))
    assert len(paths) > 40
    shown = re.findall(r"^ +(\w+)\t<", tree, flags=re.MULTILINE)
    assert sorted(shown) == sorted(path.rpartition(".")[2] for path in paths)
    for path in paths:
        text = cluster.kubectl("explain", path, "--api-version", f"{DEFAULT_GROUP}/v1")
        assert "<empty>" not in text, path
        assert re.search(r"DESCRIPTION:\n +\S", text), path


def test_get_prints_the_columns_by_short_name_and_category(cluster, namespace):
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps(webapp(host="blog.example.com", replicas=2)))
    header, line = cluster.kubectl("get", "wa", "-n", namespace).splitlines()
    assert header.split() == ["NAME", "DESIRED", "READY", "HOST", "AGE"]
    assert line.split()[:3] == ["web", "2", "blog.example.com"]
    wide = cluster.kubectl("get", "webapp", "-n", namespace, "-o", "wide").splitlines()[0]
    assert wide.split() == ["NAME", "DESIRED", "READY", "HOST", "REASON", "AGE"]
    assert "web" in cluster.kubectl("get", "platform", "-n", namespace)


def test_host_and_image_can_be_selected_by(cluster, namespace):
    for name, host in (("one", "one.example.com"), ("two", "two.example.com")):
        cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps(webapp(name, host=host)))
    for selector, expected in (
        ("spec.host=two.example.com", {"webapp.platform.example.com/two"}),
        ("spec.host=three.example.com", set()),
        ("spec.image=nginx:1.27", {"webapp.platform.example.com/one", "webapp.platform.example.com/two"}),
    ):
        found = cluster.kubectl("get", "wa", "-n", namespace, "--field-selector", selector, "-o", "name")
        assert set(found.split()) == expected


def test_scale_changes_the_replicas_of_the_spec(cluster, namespace):
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps(webapp()))
    cluster.kubectl("scale", "wa/web", "--replicas=4", "-n", namespace)
    assert cluster.kubectl("get", "wa/web", "-n", namespace, "-o", "jsonpath={.spec.replicas}") == "4"


def test_status_is_written_apart_from_the_spec(cluster, namespace):
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps({**webapp(), "status": {"replicas": 9}}))
    assert cluster.kubectl("get", "wa/web", "-n", namespace, "-o", "jsonpath={.status}") == ""
    patch = json.dumps({"status": {"replicas": 2, "selector": "app=web"}, "spec": {"replicas": 7}})
    cluster.kubectl("patch", "wa/web", "-n", namespace, "--subresource=status", "--type=merge", "-p", patch)
    path = f"/apis/{DEFAULT_GROUP}/v1/namespaces/{namespace}/webapps/web/scale"
    scale = json.loads(cluster.kubectl("get", "--raw", path))
    assert scale["spec"]["replicas"] == 1
    assert scale["status"] == {"replicas": 2, "selector": "app=web"}


def test_a_name_of_63_characters_gives_ready_pods(cluster, namespace):
    name = "n" * 63
    parse(webapp(name))
    cluster.kubectl("create", "deployment", name, "--image=nginx", "-n", namespace)
    cluster.kubectl("wait", "--for=condition=Available", f"deployment/{name}", "-n", namespace, "--timeout=30s")
    cluster.kubectl("expose", f"deployment/{name}", "--port=80", "-n", namespace)


def test_two_managers_share_the_variables_by_name(cluster, namespace):
    for manager, name in (("team", "A"), ("platform", "B")):
        partial = json.dumps(webapp(env=[{"name": name, "value": manager}]))
        flags = ("--server-side", f"--field-manager={manager}", "-n", namespace)
        cluster.kubectl("apply", *flags, "-f", "-", stdin=partial)
    found = cluster.kubectl("get", "wa/web", "-n", namespace, "-o", "jsonpath={.spec.env[*].name}")
    assert found == "A B"


def test_both_dialects_are_applied_word_for_word(cluster, dialect):
    for sample, place in (("dialect-platform", "webapp-demo"), ("dialect-mycompany", "demo")):
        cluster.kubectl("create", "namespace", place)
        try:
            cluster.kubectl("apply", "--validate=strict", "-f", str(FOLDER / "valid" / f"{sample}.yaml"))
        finally:
            cluster.kubectl("delete", "namespace", place, "--wait=false")


def test_the_other_group_is_served_with_the_same_short_name(cluster, dialect, namespace):
    text = (FOLDER / "valid" / "dialect-mycompany.yaml").read_text(encoding="utf-8")
    cluster.apply(text.replace("namespace: demo", f"namespace: {namespace}"))
    _, line = cluster.kubectl("get", f"webapps.{dialect}", "-n", namespace).splitlines()
    assert line.split()[:3] == ["myblog", "2", "blog.example.com"]
