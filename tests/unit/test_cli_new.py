"""`webapp new` and `webapp list`: events made to order."""

import json
from pathlib import Path

import pytest

from functions.dev.catalogue import kinds
from functions.webapp import contract, envelope
from functions.webapp.contract import Change
from functions.webapp.resources import OWNED, webapp
from tests.command import runner

GOLDEN = Path(__file__).parents[1] / "data" / "cli"


@pytest.fixture
def run(capfd):
    return runner(capfd)


@pytest.mark.parametrize("name", ["webapp.modified", "deployment.deleted"])
def test_event_is_the_same_to_the_byte_every_time(run, name):
    done = run("new", name, "--name", "web", "-n", "shop")
    assert done.code == 0
    assert done.out == (GOLDEN / f"new-{name}.json").read_text()


@pytest.mark.parametrize("kind", [kind for kind in kinds("mycompany.com") if kind.change], ids=lambda kind: kind.name)
def test_every_event_is_valid_for_the_contract(run, kind):
    done = run("new", kind.name, "--name", "web", "-n", "shop", "-g", "mycompany.com", "--uid", "u-1", "-o", "json")
    meant = contract.parse(envelope.from_json(json.loads(done.out)), webapp("mycompany.com"), OWNED)
    assert done.out.count("\n") == 1
    assert (str(meant.webapp), meant.webapp.uid, meant.changed, meant.change) == (
        "shop/web",
        "u-1",
        kind.resource,
        kind.change,
    )
    assert meant.cause == ("sync" if kind.change is Change.SYNC else "watch")


def test_attributes_follow_the_data(run):
    changes = ["data.object.resourceVersion=7", "data.object.uid=u-7", "data.object.name=w2", "data.webapp.name=w2"]
    made = run("new", "service.added", "--name", "web", *(f"--set={change}" for change in changes)).json
    assert made["id"] == "u-7.7.added"
    assert made["sequence"] == "00000000000000000007"
    assert made["subject"] == "/api/v1/namespaces/default/services/w2"
    assert (made["partitionkey"], made["webapp"], made["name"]) == ("default/w2", "w2", "w2")


def test_settings_reach_attributes_numbers_objects_and_removal(run):
    made = run(
        *("new", "webapp.sync", "--name", "web", "--time", "2026-05-04T03:02:01Z"),
        *("--set", "traceparent=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        *("--set", "data.coalesced=3", "--set", 'data.note={"a": [1, 2]}', "--set", "data.note.a.1=x"),
        *("--set", "sequence=null"),
    ).json
    assert made["traceparent"].startswith("00-0af7")
    assert made["time"] == "2026-05-04T03:02:01Z"
    assert made["data"]["coalesced"] == 3
    assert made["data"]["note"] == {"a": [1, "x"]}
    assert "sequence" not in made


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["webapp.renamed"], "EVENT: 'webapp.renamed' is not an event that can be made; use one of webapp.added, "),
        (["webapp.added", "--set", "data"], "--set 'data': is not PATH=VALUE, such as data.object.resourceVersion=7"),
        (["webapp.added", "--set", "data..x=1"], "--set 'data..x=1': is not PATH=VALUE"),
        (["webapp.added", "--set", "data.reason.x=1"], "--set data.reason.x=1: 'x' is not a field of an object"),
        (["webapp.added", "--set", "data.reason.x.y=1"], "--set data.reason.x.y=1: there is no 'x' to go into"),
        (["webapp.added", "--set", "data.webapp.name=Web"], "data.webapp.name: 'Web' is not a name in Kubernetes"),
        (["webapp.added", "--set", "source=null"], "source: is missing"),
        (["webapp.added", "--time", "noon"], "--time: 'noon' is not RFC 3339"),
    ],
)
def test_what_cannot_be_meant_is_told_with_field_value_and_cure(run, arguments, told):
    done = run("new", *arguments, "--name", "web")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"webapp: {told}")


def test_only_events_that_can_be_made_are_offered(run):
    for name in ("reconcile.finished", "ref.add"):
        told = run("new", name, "--name", "web").err.partition("use one of ")[2]
        assert "webapp.sync" in told
        assert name not in told


def test_missing_name_is_called_wrongly(run):
    done = run("new", "webapp.added")
    assert done.code == 2
    assert "--name" in done.err


def test_list_names_every_type_of_the_contract_with_a_sentence(run):
    told = run("list", "--output", "json").json
    assert {kind["type"] for kind in told} >= dict(contract.known_types(webapp(), OWNED)).keys()
    assert all(kind["sentence"].endswith(".") for kind in told)
    text = run("list").out
    assert all(kind["name"] in text and kind["sentence"] in text for kind in told)
    assert len(text.splitlines()) == len(told) + 1
