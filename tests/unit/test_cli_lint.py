"""`webapp lint`: findings with line and field."""

import json

import pytest

from tests.command import runner

SNAPSHOT = {
    "webapp": {
        "apiVersion": "platform.example.com/v1",
        "kind": "WebApp",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u-1", "resourceVersion": "7"},
        "spec": {"image": "nginx"},
    },
    "owned": [],
}


@pytest.fixture
def run(capfd):
    return runner(capfd)


@pytest.fixture
def event(run):
    """A good event as a dict, with a snapshot."""
    snapshot = f"data.snapshot={json.dumps(SNAPSHOT)}"
    return run("new", "webapp.modified", "--name", "web", "-n", "shop", "--uid", "u-1", "--set", snapshot).json


@pytest.fixture
def check(run, tmp_path):
    """Lint events (dicts, or text as it stands) and give exit code and findings as (line, level, field, message)."""

    def lint(*events, strict=False):
        path = tmp_path / "events.json"
        texts = [each if isinstance(each, str) else json.dumps(each, indent=1) for each in events]
        path.write_text("\n".join(texts))
        done = run("lint", path, "-o", "json", *(["--strict"] if strict else []))
        found = [tuple(finding.values()) for finding in done.json["findings"]]
        for finding in found:
            told = f"{path}:{finding[0]}: {finding[1]}: {finding[2]}: {finding[3]}"
            assert told in run("lint", path).out.splitlines()
        return done.code, found

    return lint


def line_of(event, text):
    return next(i for i, line in enumerate(json.dumps(event, indent=1).splitlines(), 1) if text in line)


def test_good_events_have_no_findings(check, event):
    assert check(event, json.dumps(event), event, strict=True) == (0, [])


def test_events_of_api_server_source_are_understood(check):
    data = {"kind": "WebApp", "apiVersion": "platform.example.com/v1", "namespace": "shop", "name": "web"}
    head = {"specversion": "1.0", "id": "1", "source": "//x", "type": "dev.knative.apiserver.ref.add"}
    assert check({**head, "data": data}) == (0, [])
    assert check({**head, "data": {**data, "name": "Web"}})[1][0][2] == "data.name"


def test_error_of_the_contract_stands_on_the_line_of_its_field(check, event):
    event["data"]["snapshot"]["owned"] = [{"kind": "Service", "metadata": {"name": "web"}}]
    code, [(line, level, field, message)] = check(event)
    assert (code, level, field) == (1, "error", "data.snapshot.owned[0].metadata")
    assert message.startswith("must have name")
    wide = json.dumps(event, indent=1).splitlines()
    owned = next(i for i, text in enumerate(wide, 1) if '"owned"' in text)
    assert line == next(i for i, text in enumerate(wide, 1) if i > owned and '"metadata"' in text)


def test_lines_count_over_the_whole_file(check, event):
    bad = {**event, "specversion": "0.3"}
    first = len(json.dumps(event, indent=1).splitlines())
    code, [(line, _, field, message)] = check(event, bad)
    assert (code, field) == (1, "specversion")
    assert line == first + line_of(bad, "specversion")
    assert "send 1.0" in message


def test_missing_attribute_and_foreign_type_are_errors(check, event):
    unnamed = {name: value for name, value in event.items() if name != "id"}
    assert [finding[1:3] for finding in check(unnamed)[1]] == [("error", "id")]
    code, [(line, level, field, message)] = check({**event, "type": "com.example.other.v1"})
    assert (code, level, field) == (1, "error", "type")
    assert line == line_of(event, '"type"')
    assert "expected com.example.platform.<kind>.<change>.v1" in message


def test_attribute_that_does_not_fit_the_data_is_a_warning(check, event):
    event["sequence"], event["subject"] = "9", "/elsewhere"
    code, found = check(event)
    assert code == 0
    assert [finding[:3] for finding in found] == [
        (line_of(event, '"subject"'), "warning", "subject"),
        (line_of(event, '"sequence"'), "warning", "sequence"),
    ]
    assert found[1][3] == "'9' does not fit the data: expected '00000000000000000001'"
    assert check(event, strict=True)[0] == 1


def test_tick_of_an_event_that_is_announced_again_fits(check, event):
    assert check({**event, "id": f"{event['id']}.42"}, strict=True) == (0, [])
    assert check({**event, "id": f"{event['id']}42"})[1][0][2] == "id"


def test_snapshot_that_the_schema_refuses_is_a_warning_on_its_field(check, event):
    event["data"]["snapshot"]["webapp"]["spec"]["port"] = 70000
    code, [(line, level, field, message)] = check(event)
    assert (code, level, field) == (0, "warning", "data.snapshot.webapp.spec.port")
    assert line == line_of(event, '"port"')
    assert message == "70000 must be at most 65535"


def test_event_that_intermediaries_may_drop_is_a_warning(check, event):
    event["data"]["snapshot"]["webapp"]["spec"]["env"] = [{"name": "A", "value": "x" * 66_000}]
    fields = [finding[2] for finding in check(event)[1]]
    assert fields[0] == "data"


def test_what_is_no_json_is_told_with_its_line(run, tmp_path, event):
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(event) + "\n" + json.dumps(event)[:-1] + "\n")
    done = run("lint", path)
    assert done.code == 1
    assert done.err.startswith(f"webapp: {path}:3: is not JSON: ")


@pytest.mark.parametrize("text", ["é", "[" * 100_000, "9" * 10_000, '{"specversion": tru}'])
def test_what_no_reader_takes_is_told(run, tmp_path, text):
    path = tmp_path / "events.jsonl"
    path.write_text(text)
    for command in ("lint", "curl"):
        done = run(command, path)
        assert done.code == 1
        assert done.err.startswith(f"webapp: {path}:1: is not JSON: ")


@pytest.mark.parametrize("text", ["[]", "5", "NaN", "null", '{"id": "\\ud800"}', '{"a": 1e999}'])
def test_json_that_is_no_event_is_an_error(check, text):
    code, [(line, level, field, _)] = check(text)
    assert (code, line, level, field) == (1, 1, "error", "event")


def test_name_that_is_there_twice_is_an_error(check, event):
    text = json.dumps(event)
    code, [(_, level, field, message)] = check(text[:-1] + ', "id": "2"}')
    assert (code, level, field) == (1, "error", "event")
    assert "'id' twice" in message


def test_file_that_is_not_there_or_empty_fails(run, tmp_path):
    done = run("lint", tmp_path / "none.jsonl")
    assert done.code == 1
    assert "No such file or directory; name a file of events, or - for standard input" in done.err
    (tmp_path / "empty.jsonl").touch()
    assert run("lint", tmp_path / "empty.jsonl").code == 1
