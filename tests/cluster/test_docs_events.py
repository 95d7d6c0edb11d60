"""docs/events.md does what it says, and shows what is sent."""

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from functions.dev.catalogue import kinds
from functions.dev.toolchain import Toolchain
from functions.dev.workbench import Workbench
from functions.webapp import contract
from functions.webapp.resources import DEFAULT_GROUP, OWNED, webapp
from tests import docs, recorded

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "events.md"


@pytest.fixture
def bench(cluster):
    """What `webapp dev` runs, for the one namespace of the page."""
    settings = {"WEBAPP_NAMESPACES": recorded.NAMESPACE, "BRIDGE_LEASE_NAME": "webapp-bridge-docs"}
    with Workbench(nullcontext(cluster), settings=settings) as found:
        yield found
        cluster.kubectl("delete", "namespace", recorded.NAMESPACE, "--ignore-not-found")


def test_every_command_of_the_page_works_and_prints_what_the_page_says(bench, tmp_path):
    programs = [str(Path(sys.executable).parent), str(Toolchain.from_environment().find("kubectl").parent)]
    environ = {
        **os.environ,
        "PATH": os.pathsep.join([*programs, os.environ["PATH"]]),
        "KUBECONFIG": str(bench.cluster.kubeconfig),
        "KUBECACHEDIR": str(tmp_path),  # other tests serve other groups
        "FUNCTION": bench.url,
        "EVENTS": str(bench.recording),
        "COLUMNS": "240",
    }
    assert docs.run(PAGE, environ, ROOT) >= 10


def test_recorded_examples_are_what_the_bridge_sends_today(bench):
    kept, live = recorded.files(), recorded.play(bench)
    assert kept.keys() == live.keys()
    for name, event in live.items():
        assert kept[name].keys() == event.keys(), name
        assert kept[name]["data"].keys() == event["data"].keys(), name


def test_page_shows_an_example_word_for_word_and_links_every_other():
    [shown] = [block.text for block in docs.blocks(PAGE) if block.tag == "json"]
    examples = recorded.files()
    assert json.loads(shown) == examples["webapp.added"]
    page = PAGE.read_text()
    assert all(f"(../tests/data/events/{name}.json)" in page for name in examples)
    assert examples.keys() == {kind.name for kind in kinds(DEFAULT_GROUP) if kind.change} - {
        f"{each.kind.lower()}.sync" for each in OWNED
    }
    types = dict(contract.known_types(webapp(), OWNED))
    assert all(event["type"] in types for event in examples.values())
