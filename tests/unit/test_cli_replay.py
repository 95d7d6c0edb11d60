"""`webapp replay`, `record` and `resend` without a cluster: choosing, pacing, judging, and what is told."""

import json
import random
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from functions.dev import recording
from functions.dev.answer import Answer
from functions.dev.examples import Order, make
from functions.dev.recording import Recorded
from functions.dev.replay import Course
from functions.dev.sender import Sender
from functions.dev.tap import Tap
from tests.command import runner

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def run(capfd):
    return runner(capfd)


def events(*names, gap=10):
    return [
        Recorded(i + 1, make(Order("webapp.modified", name, "shop", time=START + timedelta(seconds=gap * i))))
        for i, name in enumerate(names)
    ]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(recording.line(each.event) for each in events("a", "b", "c")))
    return path


@contextmanager
def function(*answers):
    """A server that gives (status, headers, body) in turn, the last for ever, and keeps what it got."""
    got = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            status, headers, content = answers[min(len(got), len(answers)) - 1]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def report(outcome="unchanged", plan=(), calls=()):
    body = {"outcome": outcome, "plan": list(plan), "calls": list(calls), "reason": "Available"}
    trace = {"traceresponse": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    return 200, trace, json.dumps(body).encode()


WROTE = report(
    "created",
    [{"verb": "create", "kind": "Service", "name": "web"}],
    [
        {"method": "GET", "path": "/w"},
        {"method": "POST", "path": "/s", "error": "already_exists"},
        {"method": "POST", "path": "/s"},
        {"method": "PUT", "path": "/w/status"},
    ],
)
PROBLEM = (422, {"content-type": "application/problem+json"}, b'{"detail": "type: is not ours"}')


def test_replay_tells_outcome_plan_calls_and_trace_of_each_event(run, file):
    with function(WROTE, report()) as (url, got):
        done = run("replay", file, "--to", url)
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[1][:3] == ["webapp.modified", "shop/webapps/a", "created"]
    assert "create Service, update status" in done.out
    assert "0af7651916cd43dd8448eb211c80319c" in lines[1]
    assert done.out.endswith("\n3 events, 0 failed, 4 API calls, 2 of them writes\n")
    assert {headers["prefer"] for _, headers, _ in got} == {"return=representation"}
    assert [json.loads(body)["webapp"] for _, _, body in got] == ["a", "b", "c"]


def test_event_that_fails_fails_the_replay_and_is_named(run, file):
    with function(report(), PROBLEM, report()) as (url, _):
        done = run("replay", file, "--to", url, "-o", "json")
    assert done.code == 1
    assert [row["status"] for row in done.json["events"]] == [200, 422, 200]
    [problem] = done.json["problems"]
    assert problem.startswith("pass 1, line 2, ")
    assert problem.endswith("type: is not ours")


def test_function_that_is_not_there_fails_the_replay(run, file):
    with function() as (url, _):
        pass
    done = run("replay", file, "--to", url)
    assert done.code == 1
    assert "no answer" in done.out
    assert f"{url} did not answer" in done.err


def test_second_pass_may_not_write(run, file):
    quiet, loud = [report()] * 5, WROTE
    with function(*quiet) as (url, got):
        assert run("replay", file, "--to", url, "--twice").code == 0
        assert len(got) == 6
    with function(*quiet, loud) as (url, _):
        done = run("replay", file, "--to", url, "--twice")
    assert done.code == 1
    assert "wrote again (create Service, update status)" in done.err


def test_first_pass_may_write(run, file):
    with function(WROTE, WROTE, WROTE, report()) as (url, _):
        assert run("replay", file, "--to", url, "--twice").code == 0


def test_expectation_of_an_earlier_replay_holds_until_something_differs(run, file, tmp_path):
    want = tmp_path / "want.json"
    with function(WROTE, report()) as (url, _):
        want.write_text(run("replay", file, "--to", url, "-o", "json").out)
    with function(WROTE, report()) as (url, _):
        assert run("replay", file, "--to", url, "--expect", want).code == 0
    with function(report()) as (url, _):
        done = run("replay", file, "--to", url, "--expect", want)
        assert done.code == 1
        assert "outcome is 'unchanged', expected 'created'" in done.err
        assert "writes is 0, expected 2" in done.err
        fewer = run("replay", file, "--to", url, "--expect", want, "--filter", "webapp=shop/[bc]")
        assert fewer.code == 1
        assert "expected, not sent" in fewer.err


def test_dry_run_asks_for_one(run, file):
    with function(report()) as (url, got):
        assert run("replay", file, "--to", url, "--dry-run").code == 0
    assert {path for path, _, _ in got} == {"/?dryRun=All"}


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        (["webapp=shop/b"], "b"),
        (["webapp=*/[ab]"], "ab"),
        (["type=webapp.*"], "abc"),
        (["type=com.example.platform.webapp.modified.v1", "webapp=shop/c"], "c"),
    ],
)
def test_filters_choose_by_type_and_webapp(run, file, filters, kept):
    with function(report()) as (url, got):
        assert run("replay", file, "--to", url, *(f"--filter={each}" for each in filters)).code == 0
    assert [json.loads(body)["webapp"] for _, _, body in got] == list(kept)


def test_replay_of_nothing_fails(run, file):
    with function(report()) as (url, _):
        assert run("replay", file, "--to", url, "--filter", "type=service.*").code == 1


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--filter=kind=x", "--filter 'kind=x': is neither type=TYPE nor webapp=NAMESPACE/NAME; * stands for any text"),
        ("--speed=fast", "--speed 'fast': is not a speed, such as 1x, 10x or max"),
        ("--speed=0x", "--speed '0x': is not a speed"),
        ("--to=here", "--to 'here': is not an http or https URL"),
    ],
)
def test_options_that_cannot_be_meant_are_told(run, file, option, told):
    done = run("replay", file, "--to", "http://127.0.0.1:1/", option)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"webapp: {told}")


def test_expectation_that_is_none_is_told(run, file):
    done = run("replay", file, "--to", "http://127.0.0.1:1/", "--expect", file)
    assert done.code == 1
    assert "--expect" in done.err


def test_speed_takes_a_part_of_the_recorded_time():
    slept: list[float] = []
    answer = Answer(204, 1.0)
    rows = list(Course(speed=10.0).run(events("a", "b", "c", gap=20), lambda _: answer, slept.append))
    assert len(rows) == 3
    assert slept == [2.0, 2.0]
    assert not list(Course(speed=None).run([], lambda _: answer, slept.append))


def test_shuffle_sends_each_once_a_pass_in_a_repeatable_order():
    def order(seed):
        rows = Course(2, random.Random(seed)).run(events(*"abcdefgh"), lambda _: Answer(204, 1.0))
        return [(row.turn, row.recorded.line) for row in rows]

    first = order(1)
    assert first == order(1)
    assert first != sorted(first)
    assert sorted(first) == [(turn, line) for turn in (1, 2) for line in range(1, 9)]


def test_resend_sends_the_event_without_its_error_and_by_id(run, tmp_path):
    parked = tmp_path / "parked.jsonl"
    lines = []
    for each in events("a", "b"):
        found = json.loads(recording.line(each.event))
        lines.append(json.dumps({**found, "knativeerrorcode": 400, "knativeerrordest": "http://x", "extra": "kept"}))
    parked.write_text("\n".join(lines) + "\n")
    ids = [json.loads(line)["id"] for line in lines]
    with function(report()) as (url, got):
        assert run("resend", ids[1], "--parked", parked, "--to", url).code == 0
        assert run("resend", "--parked", parked, "--to", url).code == 0
        missing = run("resend", "nobody", "--parked", parked, "--to", url)
    sent = [json.loads(body) for _, _, body in got]
    assert [each["id"] for each in sent] == [ids[1], *ids]
    assert all(not name.startswith("knativeerror") for each in sent for name in each)
    assert {each["extra"] for each in sent} == {"kept"}
    assert missing.code == 1
    assert "ID: 'nobody' is not in the file; it holds " in missing.err
    assert parked.read_text() == "\n".join(lines) + "\n"


def test_record_tells_what_it_cannot_write_to_or_listen_on(run, tmp_path):
    there, missing = tmp_path / "events.jsonl", tmp_path / "none" / "events.jsonl"
    done = run("record", "--to", "http://127.0.0.1:1/", "--out", missing)
    assert done.code == 1
    assert f"--out '{missing}': No such file or directory; name a file that can be written" in done.err
    with function() as (url, _):
        port = url.rstrip("/").rpartition(":")[2]
        done = run("record", "--to", url, "--out", there, "--listen", port)
    assert done.code == 1
    assert done.err == f"webapp: port {port}: Address already in use; name another one, or 0 for any that is free\n"


def test_tap_passes_everything_as_it_is_and_shows_it():
    seen = []
    headers, body = (
        {"content-type": "application/cloudevents+json", "x-mine": "1"},
        recording.line(events("a")[0].event),
    )
    answers = [(204, {"webapp-wrote": "u/7", "webapp-outcome": "created"}, b""), PROBLEM]
    with function(*answers) as (url, got), Tap(url, lambda *pair: seen.append(pair)) as tap, Sender(tap.url) as sender:
        told, response = sender.post(headers, body)
        refused, refusal = sender.post(headers, body, "?dryRun=All")
    assert response is not None
    assert refusal is not None
    assert (told.status, told.outcome, response.headers["webapp-wrote"]) == (204, "created", "u/7")
    assert (refused.status, refusal.headers["content-type"], refusal.data) == (422, *PROBLEM[1].values(), PROBLEM[2])
    assert [(path, got_body) for path, _, got_body in got] == [("/", body), ("/?dryRun=All", body)]
    assert got[0][1]["x-mine"] == "1"
    assert "prefer" not in got[0][1]
    assert [(event.get_id(), answer.status) for event, answer in seen] == [
        (events("a")[0].event.get_id(), 204),
        (events("a")[0].event.get_id(), 422),
    ]


def test_tap_that_asks_for_reports_leaves_the_sender_its_empty_answer():
    seen = []
    headers, body = {"content-type": "application/cloudevents+json"}, recording.line(events("a")[0].event)
    with (
        function(WROTE) as (url, got),
        Tap(url, lambda *pair: seen.append(pair), report=True) as tap,
        Sender(tap.url) as sender,
    ):
        told, response = sender.post(headers, body)
        asked, _ = sender.post({**headers, "prefer": "return=representation"}, body)
    assert response is not None
    assert (told.status, response.data, told.trace_id) == (204, b"", "0af7651916cd43dd8448eb211c80319c")
    assert (asked.status, asked.writes) == (200, 2)
    assert [answer.writes for _, answer in seen] == [2, 2]
    assert {headers["prefer"] for _, headers, _ in got} == {"return=representation"}


def test_tap_answers_503_while_nobody_is_behind_it():
    with function() as (url, _):
        pass
    with Tap(url, lambda *_: None) as tap, Sender(tap.url) as sender:
        told, response = sender.post({"content-type": "application/cloudevents+json"}, b"{}")
    assert response is not None
    assert (told.status, response.headers["retry-after"]) == (503, "1")
    assert response.headers["content-type"].startswith("text/plain")
