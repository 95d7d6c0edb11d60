"""`webapp curl`: the printed command sends the event that it was made from."""

import io
import json
import shlex
import sys
from pathlib import Path

import pytest

from functions.webapp import envelope
from tests.command import runner

GOLDEN = Path(__file__).parents[1] / "data" / "cli"


@pytest.fixture
def run(capfd):
    return runner(capfd)


@pytest.fixture
def event(run, tmp_path):
    path = tmp_path / "event.json"
    path.write_text(run("new", "webapp.modified", "--name", "web", "-n", "shop").out)
    return path


def sent(command):
    """URL, header pairs and body of a curl command."""
    words = shlex.split(command)
    assert words[:2] == ["curl", "-sS"]
    headers = [tuple(words[i + 1].split(": ", 1)) for i, word in enumerate(words) if word == "-H"]
    return words[2], headers, words[words.index("--data-binary") + 1].encode()


@pytest.mark.parametrize("mode", ["structured", "binary"])
def test_command_is_the_golden_one(run, event, mode):
    assert run("curl", event, f"--{mode}").out == (GOLDEN / f"curl-{mode}.sh").read_text()


@pytest.mark.parametrize("mode", ["structured", "binary"])
def test_command_sends_the_same_event_whatever_is_in_it(run, event, mode):
    found = json.loads(event.read_text())
    found["data"]["note"] = 'it\'s "quoted"\n$HOME `x` \\ % ü'
    found["remark"] = '50% of "it" ü'
    event.write_text(json.dumps(found))
    _, headers, body = sent(run("curl", event, f"--{mode}").out)
    assert envelope.to_json(envelope.decode(headers, body)) == envelope.to_json(envelope.from_json(found))


def test_report_and_dry_run_are_asked_for(run, event):
    url, headers, _ = sent(run("curl", event, "--report", "--dry-run", "--to", "http://localhost:81").out)
    assert url == "http://localhost:81/?dryRun=All"
    assert ("prefer", "return=representation") in headers


def test_standard_input_may_hold_several_events(run, event, monkeypatch):
    twice = io.TextIOWrapper(io.BytesIO(event.read_bytes() * 2))
    monkeypatch.setattr(sys, "stdin", twice)
    commands = run("curl", "-", "--output", "json").json["commands"]
    assert len(commands) == 2
    assert commands[0] == commands[1]


def test_bytes_in_binary_mode_are_refused(run, event):
    found = {"specversion": "1.0", "id": "1", "source": "/x", "type": "y", "data_base64": "AAE="}
    event.write_text(json.dumps({**found, "datacontenttype": "image/png"}))
    assert "use --structured" in run("curl", event, "--binary").err
    assert run("curl", event, "--structured").code == 0


def test_url_that_is_none_is_refused(run, event):
    done = run("curl", event, "--to", "localhost:8080")
    assert (done.code, done.out) == (1, "")
    assert done.err == "webapp: --to 'localhost:8080': is not an http or https URL, such as http://127.0.0.1:8080\n"


def test_event_that_is_none_is_told_with_file_line_and_field(run, event):
    event.write_text('\n\n{"specversion": "1.0", "id": "1", "source": "/x"}')
    done = run("curl", event)
    assert done.code == 1
    assert done.err.startswith(f"webapp: {event}:3: type: is missing; ")
