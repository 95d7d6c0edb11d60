"""`kubectl get reconciles` feels like a built-in resource: every way of asking that its users know."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from functions.dev.cluster import KubectlError
from functions.webapp.finished import Fault
from functions.webapp.outcome import Outcome
from tests.history.runs import row

RUNS: tuple[dict[str, Any], ...] = (
    {"webapp": "shop", "outcome": Outcome.CREATED},
    {"webapp": "shop", "outcome": Outcome.UNCHANGED, "plan": ()},
    {"webapp": "blog", "outcome": Outcome.FAILED, "fault": Fault("conflicts_exhausted", "five times")},
    {"webapp": "blog", "outcome": Outcome.BLOCKED, "reason": "NameConflict", "message": "taken"},
    {"webapp": "wiki", "outcome": Outcome.GONE, "plan": ()},
)


@pytest.fixture
def recorded(history, store, team):
    """Five runs of three WebApps, the newest first, by number."""
    begun = datetime.now(UTC) - timedelta(minutes=5)
    found = [
        row(number, namespace=team, started_at=begun + timedelta(seconds=number), **run)
        for number, run in enumerate(RUNS)
    ]
    store.append(found)
    return [each.name for each in found]


@pytest.fixture
def get(plane, recorded, team):
    """`kubectl get reconciles` in the namespace, as lists of words."""

    def run(*args):
        return [line.split() for line in plane.kubectl("get", "reconciles", "-n", team, *args).splitlines()]

    return run


def test_get_prints_the_newest_first_with_columns_of_its_own(get, recorded):
    heads, *rows = get()
    assert heads == ["NAME", "WEBAPP", "TRIGGER", "OUTCOME", "CHANGES", "DURATION", "AGE"]
    assert [line[0] for line in rows] == recorded[::-1]
    assert rows[-1][1:-1] == ["shop", "webapp.modified", "Converged", "1", "updated", "12.5ms"]
    assert rows[-1][-1].endswith("m") or rows[-1][-1].endswith("s")


def test_wide_adds_what_leads_to_the_trace(get):
    heads, *rows = get("-o", "wide")
    assert heads[7:] == ["REASON", "GENERATION", "ATTEMPT", "TRACE", "EVENT", "REVISION"]
    assert f"{1:032x}" in rows[-1]


def test_all_namespaces_shows_where_each_is(plane, recorded, team):
    lines = [line.split() for line in plane.kubectl("get", "rec", "--all-namespaces").splitlines()]
    assert lines[0][:2] == ["NAMESPACE", "NAME"]
    assert [line[1] for line in lines if line[0] == team] == recorded[::-1]


def test_labels_are_shown_and_become_columns(get):
    heads, *rows = get("--show-labels")
    assert (heads[-1], rows[-1][-1]) == ("LABELS", "outcome=Converged,trigger=webapp.modified,webapp=shop")
    heads, *rows = get("-L", "outcome")
    assert (heads[-1], rows[0][-1]) == ("OUTCOME", "Gone")


@pytest.mark.parametrize(
    ("selector", "webapps"),
    [
        ("webapp=shop", ["shop", "shop"]),
        ("webapp==wiki", ["wiki"]),
        ("webapp!=shop", ["wiki", "blog", "blog"]),
        ("webapp in (shop, wiki)", ["wiki", "shop", "shop"]),
        ("webapp notin (shop, wiki)", ["blog", "blog"]),
        ("webapp,outcome=Retry", ["blog"]),
        ("!webapp", []),
        ("nothing!=x,outcome=Gone", ["wiki"]),
        ("nothing", []),
    ],
)
def test_labels_select_by_every_operator(plane, recorded, team, selector, webapps):
    path = "-o=jsonpath={.items[*].spec.webAppRef.name}"
    assert plane.kubectl("get", "reconciles", "-n", team, "-l", selector, path).split() == webapps


@pytest.mark.parametrize(
    ("selector", "webapps"),
    [
        ("status.outcome=Converged", ["shop"]),
        ("status.outcome==Failed", ["blog"]),
        ("status.outcome!=Failed", ["wiki", "blog", "shop", "shop"]),
        ("spec.webAppRef.name=blog,status.outcome!=Retry", ["blog"]),
        ("metadata.namespace!=other,spec.webAppRef.name=wiki", ["wiki"]),
    ],
)
def test_fields_select_what_is_declared(plane, recorded, team, selector, webapps):
    path = "-o=jsonpath={.items[*].spec.webAppRef.name}"
    assert plane.kubectl("get", "reconciles", "-n", team, "--field-selector", selector, path).split() == webapps


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (
            ("--field-selector", "status.phase=x"),
            "field label not supported: 'status.phase'; supported are metadata.name",
        ),
        (("-l", "webapp in (shop"), "labelSelector: found the end, expected ',' or ')'"),
    ],
)
def test_a_bad_selector_is_told_with_its_label(get, flags, told):
    with pytest.raises(KubectlError, match=r"\(BadRequest\)") as caught:
        get(*flags)
    assert told in str(caught.value)


def test_names_yaml_and_jsonpath(plane, recorded, team):
    printed = plane.kubectl("get", "rec", "-n", team, "-o", "name").split()
    assert printed == [f"reconcile.history.platform.example.com/{name}" for name in recorded[::-1]]
    one = yaml.safe_load(plane.kubectl("get", "rec", recorded[2], "-n", team, "-o", "yaml"))
    assert (one["apiVersion"], one["kind"]) == ("history.platform.example.com/v1alpha1", "Reconcile")
    assert one["status"]["error"] == {"reason": "conflicts_exhausted", "message": "five times"}
    path = "-o=jsonpath={.status.trace.traceID}"
    assert plane.kubectl("get", "rec", recorded[0], "-n", team, path) == f"{1:032x}"


def test_sorting_by_a_field_keeps_every_row(get):
    rows = get("--sort-by", ".spec.webAppRef.name")[1:]
    assert [line[1] for line in rows] == ["blog", "blog", "shop", "shop", "wiki"]


def test_several_by_name_and_a_missing_one_is_told_as_for_any_resource(plane, recorded, team):
    printed = plane.kubectl("get", "rec", recorded[0], recorded[4], "-n", team, "--no-headers").splitlines()
    assert [line.split()[0] for line in printed] == [recorded[0], recorded[4]]
    plane.kubectl("create", "namespace", team)  # kubectl looks for it first
    with pytest.raises(KubectlError, match=r"\(NotFound\)") as caught:
        plane.kubectl("get", "reconcile", "nothing", "-n", team)
    message = 'Error from server (NotFound): reconciles.history.platform.example.com "nothing" not found'
    assert str(caught.value).endswith(message)
    assert plane.kubectl("get", "reconcile", "nothing", "-n", team, "--ignore-not-found") == ""


def test_describe_tells_everything(plane, recorded, team):
    told = plane.kubectl("describe", "reconcile", recorded[3], "-n", team)
    for line in ("Outcome:  Failed", "Reason:   NameConflict", "Message:  taken", "Kind:         Reconcile"):
        assert line.split() in [each.split() for each in told.splitlines()]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("reconciles", "One run of the reconcile function"),
        ("rec.spec.webAppRef.name", "FIELD: name <string>"),
        ("rec.status.actions.verb", "create, patch, delete or update"),
        ("rec.status.trace.traceID", "FIELD: traceID <string>"),
        ("rec.metadata.labels", "FIELD: labels <map[string]string>"),
    ],
)
def test_explain_goes_to_the_leaf(plane, history, path, told):
    assert told in plane.kubectl("explain", path)


def test_wait_sees_a_field_that_is_there_and_one_that_comes(plane, recorded, team, store):
    condition = "--for=jsonpath={.status.outcome}=Retry"
    assert "condition met" in plane.kubectl("wait", f"rec/{recorded[2]}", "-n", team, condition, "--timeout=30s")
    assert "condition met" in plane.kubectl(
        "wait", "rec", "-l", "outcome=Converged", "-n", team, "--for=jsonpath={.spec.webAppRef.name}=shop"
    )
    created = plane.kubectl("wait", f"rec/{recorded[0]}", "-n", team, "--for=create", "--timeout=30s")
    assert "condition met" in created


def test_a_category_lists_it_beside_webapps(plane, recorded, team):
    assert recorded[0] in plane.kubectl("get", "platform", "-n", team)
    assert plane.kubectl("get", "webapps.platform.example.com", "-n", team) == ""


@pytest.mark.parametrize(
    "command",
    [("delete", "rec", "x"), ("label", "rec", "x", "a=b"), ("patch", "rec", "x", "-p", "{}", "--type", "merge")],
)
def test_what_would_change_it_is_refused(plane, recorded, team, command):
    words = [recorded[0] if word == "x" else word for word in command]
    with pytest.raises(KubectlError, match="does not allow this method on the requested resource"):
        plane.kubectl(*words, "-n", team)


def test_rows_are_what_the_store_has(plane, recorded, team, store):
    items = json.loads(plane.kubectl("get", "rec", "-n", team, "-o", "json"))["items"]
    assert items == [store.get(team, name) for name in recorded[::-1]]
