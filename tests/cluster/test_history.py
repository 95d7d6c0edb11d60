"""The reconcile history from end to end: a WebApp is applied, and its runs are there, each with a trace to open."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import pytest
import urllib3

from functions.dev import kubeconfig
from functions.dev.jaeger import Jaeger
from functions.dev.processes import LOOPBACK, free_port
from functions.dev.traces import Traces
from functions.dev.workbench import Workbench
from functions.webapp import envelope
from functions.webapp.outcome import Outcome
from functions.webapp.resources import Resource
from tests.builders import webapp
from tests.cluster.admin import WEBAPP, Admin, Raw, until
from tests.cluster.conftest import new_namespace
from tests.cluster.sender import Function, Sender, running
from tests.command import Run, runner

RECONCILES = Resource("history.platform.example.com", "v1alpha1", "Reconcile", "reconciles")


@dataclass
class Past:
    """An operator with a history, and a WebApp `web` that it made ready."""

    admin: Admin
    namespace: str
    bench: Workbench
    jaeger: Jaeger

    def rows(self, webapp: str = "web") -> list[Raw]:
        found = self.admin.list(RECONCILES, self.namespace)
        return [each for each in found if each["spec"]["webAppRef"]["name"] == webapp]

    def record(self, headers: dict[str, str], body: bytes) -> int:
        """What the recorder answers to an event."""
        return urllib3.request("POST", self.bench.recorder, headers=headers, body=body, retries=False).status


@pytest.fixture(scope="module")
def past(cluster, admin) -> Iterator[Past]:
    with new_namespace(admin) as namespace, Jaeger() as jaeger:
        settings = {**jaeger.settings, "OTEL_BSP_SCHEDULE_DELAY": "100", "BRIDGE_LEASE_NAME": namespace}
        settings["WEBAPP_NAMESPACES"] = namespace
        with Workbench(nullcontext(cluster), settings=settings) as bench:
            admin.create(WEBAPP, webapp(name="web", namespace=namespace, replicas=1))
            found = Past(admin, namespace, bench, jaeger)
            until(lambda: any(each["status"].get("reason") == "Available" for each in found.rows()))
            yield found


@pytest.fixture
def run(past, monkeypatch, capfd) -> Run:
    monkeypatch.setenv("KUBECONFIG", str(past.bench.cluster.kubeconfig))
    return runner(capfd)


def columns(text: str) -> list[list[str]]:
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines()]


def test_the_run_of_an_applied_webapp_is_there_with_a_trace_that_jaeger_knows(past):
    heading, *rows = columns(past.bench.cluster.kubectl("get", "reconciles", "-n", past.namespace, "-o", "wide"))
    assert heading[:7] == ["NAME", "WEBAPP", "TRIGGER", "OUTCOME", "CHANGES", "DURATION", "AGE"]
    created = dict(zip(heading, rows[-1], strict=True))
    assert (created["WEBAPP"], created["TRIGGER"]) == ("web", "webapp.added")
    assert (created["OUTCOME"], created["CHANGES"]) == ("Converged", "2 created")
    span = past.rows()[-1]["status"]["trace"]
    assert span["traceID"] == created["TRACE"]
    with Traces(past.jaeger.query) as traces:
        until(lambda: span["spanID"] in {each.span_id for each in traces.get(span["traceID"])})
        until(lambda: "webapp-history-recorder" in {each.service for each in traces.get(span["traceID"])})


def test_trace_of_a_row_is_opened_by_its_id(past, run):
    trace = past.rows()[-1]["status"]["trace"]["traceID"]
    done = run("trace", "--id", trace, "--jaeger", past.jaeger.query)
    assert done.code == 0
    assert trace in done.out
    assert "create Deployment, create Service, update status" in done.out


def test_history_prints_what_kubectl_prints_from_the_api_and_from_the_database(past, run):
    names = [each["metadata"]["name"] for each in past.rows()]
    assert len(names) >= 2
    about = f"{past.namespace}/web"
    served, stored = run("history", about), run("history", about, "--database", past.bench.history.database)
    assert [done.code for done in (served, stored)] == [0, 0]
    heading, *rows = columns(served.out)
    assert heading == ["NAME", "WEBAPP", "TRIGGER", "OUTCOME", "CHANGES", "DURATION", "AGE", "TRACE"]
    assert [row[0] for row in rows] == names
    assert [row[-1] for row in rows] == [each["status"]["trace"]["traceID"] for each in past.rows()]
    assert [row[:6] + row[7:] for row in columns(stored.out)] == [row[:6] + row[7:] for row in (heading, *rows)]
    shown = run("history", about, "-o", "json", "--limit", 1).json["reconciles"]
    assert [each["metadata"]["name"] for each in shown] == names[:1]
    wide = columns(run("history", about, "--wide").out)
    assert wide[0][-6:] == ["REASON", "GENERATION", "ATTEMPT", "TRACE", "EVENT", "REVISION"]


def test_history_of_nobody_is_empty_and_of_no_history_an_error(past, run, tmp_path, monkeypatch):
    done = run("history", f"{past.namespace}/nobody")
    assert (done.code, done.out) == (0, "")
    assert "no reconcile of" in done.err
    done = run("history", f"{past.namespace}/web", "--group", "nowhere.example.com")
    assert done.code == 1
    assert "install knative/extensions/history, or read the database: --database URL" in done.err
    nowhere = {"server": f"http://{LOOPBACK}:{free_port()}"}
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig.write(tmp_path / "kubeconfig", nowhere, {}, "nobody")))
    assert "the cluster cannot tell the history" in run("history", f"{past.namespace}/web").err


def test_an_event_that_is_delivered_again_adds_no_row(past, function: Function, cluster):
    sender = Sender(cluster, past.admin, past.namespace, function)
    answer = sender.post(sender.event(), prefer="reply")
    headers = {name: value for name, value in answer.headers.items() if name.startswith(("ce-", "content-type"))}
    before = {each["metadata"]["name"] for each in past.rows()}
    assert [past.record(headers, answer.body) for _ in range(3)] == [204] * 3
    after = {each["metadata"]["name"] for each in past.rows()}
    assert len(after - before) == 1
    assert before < after


def test_a_run_that_failed_is_a_row_that_says_why(past, cluster, tmp_path):
    server = {"server": f"http://{LOOPBACK}:{free_port()}"}
    with running(kubeconfig.write(tmp_path / "kubeconfig", server, {}, "nobody")) as function:
        sender = Sender(cluster, past.admin, past.namespace, function)
        event = sender.event(None)
        event["data"]["webapp"]["name"] = "unlucky"
        refused = sender.post(event, prefer="reply, finished")
    headers = {"content-type": envelope.STRUCTURED}
    assert past.record(headers, json.dumps(refused.json["finished"]).encode()) == 204
    [row] = past.rows("unlucky")
    assert (refused.json["finished"]["data"]["outcome"], row["status"]["outcome"]) == (Outcome.FAILED, "Retry")
    assert row["status"]["error"]["reason"] == "api_unavailable"
    assert row["status"]["trace"]["traceID"] == refused.json["traceId"]
