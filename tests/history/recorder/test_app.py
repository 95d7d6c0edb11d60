"""What the recorder answers, and what it writes."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from functions.aggregation.collection import Selection
from functions.aggregation.status import Unavailable
from functions.webapp import envelope, finished
from functions.webapp.outcome import Outcome
from tests.history.recorder.conftest import Bench
from tests.history.runs import GROUP, request, row, run


def count(store):
    return len(store.list(Selection(), 0).objects)


def test_an_event_that_is_answered_204_is_in_the_database(bench, store):
    answer = bench.post(request(1))
    assert (answer.status_code, answer.data) == (204, b"")
    assert store.get("team", row(1).name)["spec"]["trigger"]["eventID"] == "team.web.1.modified"


def test_a_redelivered_event_adds_no_row(bench, store):
    assert [bench.post(request(number)).status_code for number in (1, 2, 1, 1)] == [204] * 4
    assert count(store) == 2


def test_a_structured_event_is_the_same_event(bench, store):
    bench.post(request(1))
    assert bench.post(envelope.encode_structured(finished.event(run(1), GROUP))).status_code == 204
    assert count(store) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"ce-type": "com.example.platform.webapp.modified.v1"},
        {"ce-type": "com.other.reconcile.finished.v1"},
        {"ce-type": "dev.knative.apiserver.ref.add"},
    ],
)
def test_an_event_of_another_type_or_group_is_none_of_its_business(bench, store, change):
    headers, body = request(1)
    assert bench.post(({**headers, **change}, body)).status_code == 204
    assert count(store) == 0


def test_an_ignored_run_is_not_recorded(bench, store):
    assert bench.post(request(1, outcome=Outcome.IGNORED)).status_code == 204
    assert count(store) == 0


@pytest.mark.parametrize(
    ("headers", "body", "status", "says"),
    [
        ({}, b"{}", 400, "data.trigger"),
        ({}, b"not json", 400, "data"),
        ({"ce-id": ""}, b"{}", 400, "ce-id"),
        ({"content-type": "application/cloudevents-batch+json"}, b"[]", 415, "batches"),
        ({}, b"x" * 300_000, 413, ""),
    ],
)
def test_what_can_never_be_recorded_is_a_problem_that_names_the_field(bench, store, headers, body, status, says):
    good, _ = request(1)
    answer = bench.post(({**good, **headers}, body))
    assert answer.status_code == status
    assert answer.content_type == "application/problem+json"
    assert says in json.loads(answer.data)["detail"]
    assert count(store) == 0


def test_only_events_are_posted_and_nothing_else_is_there(bench):
    client = bench.app.test_client()
    assert client.get("/").status_code == 405
    assert client.get("/health/readiness").status_code == 200


def until(holds):
    while not holds():
        time.sleep(0.002)


def waiting(bench, events):
    """Return when that many wait for the next transaction."""
    until(lambda: len(bench.batches._waiting) >= events)


class Gate:
    """A database that is slow, or away, or hit by a defect, as told; `batches` are the sizes that came through."""

    def __init__(self):
        self.open, self.entered = threading.Event(), threading.Semaphore(0)
        self.batches, self.error = [], None

    def append(self, records):
        self.entered.release()
        self.open.wait(20)
        if self.error:
            raise self.error
        self.batches.append(len(records))
        return len(records)


def test_events_that_arrive_during_a_transaction_share_the_next_one():
    gate = Gate()
    bench = Bench(gate.append)
    with ThreadPoolExecutor(12) as pool:
        first = pool.submit(bench.post, request(0))
        gate.entered.acquire()
        others = [pool.submit(bench.post, request(number)) for number in range(1, 12)]
        waiting(bench, 11)
        assert not first.done()
        gate.open.set()
        assert [each.result().status_code for each in (first, *others)] == [204] * 12
    assert gate.batches == [1, 11]
    bench.batches.close()


def test_a_database_that_is_away_means_send_it_again():
    gate = Gate()
    gate.error = Unavailable("the database is away: refused")
    gate.open.set()
    bench = Bench(gate.append)
    answer = bench.post(request(1))
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert "refused" in json.loads(answer.data)["detail"]
    gate.error = None
    assert bench.post(request(1)).status_code == 204
    bench.batches.close()


def test_events_that_wait_behind_an_outage_are_told_at_once():
    gate = Gate()
    gate.error = Unavailable("away")
    bench = Bench(gate.append)
    with ThreadPoolExecutor(6) as pool:
        first = pool.submit(bench.post, request(0))
        gate.entered.acquire()
        others = [pool.submit(bench.post, request(number)) for number in range(1, 6)]
        waiting(bench, 5)
        gate.open.set()
        assert [each.result().status_code for each in (first, *others)] == [503] * 6
    assert not gate.entered.acquire(blocking=False)
    bench.batches.close()


def test_more_events_than_may_wait_are_sent_away_at_once():
    gate = Gate()
    bench = Bench(gate.append, limit=3)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(bench.post, request(0))
        gate.entered.acquire()
        others = [pool.submit(bench.post, request(number)) for number in (1, 2)]
        waiting(bench, 2)
        answer = bench.post(request(3))
        assert answer.status_code == 503
        assert "retry-after" in answer.headers
        gate.open.set()
        assert [each.result().status_code for each in (first, *others)] == [204] * 3
    bench.batches.close()


def test_a_database_that_never_answers_means_send_it_again():
    gate = Gate()
    bench = Bench(gate.append, seconds=0.05)
    assert bench.post(request(1)).status_code == 503
    gate.open.set()
    bench.batches.close()


def test_one_event_that_breaks_a_transaction_keeps_no_other_from_being_recorded():
    gate = Gate()
    poison = row(2).uid

    def append(records):
        done = gate.append(records)
        if poison in {each.uid for each in records}:
            raise ArithmeticError("poison")
        return done

    bench = Bench(append)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(bench.post, request(0))
        gate.entered.acquire()
        others = [pool.submit(bench.post, request(number)) for number in (1, 2, 3)]
        waiting(bench, 3)
        gate.open.set()
        assert first.result().status_code == 204
        assert [each.result().status_code for each in others] == [204, 500, 204]
    assert bench.post(request(4)).status_code == 204
    bench.batches.close()


def test_a_recorder_that_ends_writes_what_waits_and_takes_nothing_more():
    gate = Gate()
    bench = Bench(gate.append)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(bench.post, request(0))
        gate.entered.acquire()
        second = pool.submit(bench.post, request(1))
        waiting(bench, 1)
        ending = pool.submit(bench.batches.close)
        until(lambda: bench.batches._is_closed)
        assert bench.post(request(2)).status_code == 503
        gate.open.set()
        ending.result()
        assert (first.result().status_code, second.result().status_code) == (204, 204)


def test_a_transaction_is_a_span_of_the_first_event_and_linked_from_the_others():
    gate, spans, reader = Gate(), InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    meters = MeterProvider([reader], shutdown_on_exit=False)
    bench = Bench(gate.append, tracer=provider.get_tracer("test"), meters=meters)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(bench.post, request(0))
        gate.entered.acquire()
        others = [pool.submit(bench.post, request(number)) for number in (1, 2, 3)]
        waiting(bench, 3)
        gate.open.set()
        for each in (first, *others):
            each.result()
    bench.batches.close()
    found = spans.get_finished_spans()
    second: Any
    _, second = [each for each in found if each.name == "INSERT reconciles"]
    requests = {each.context.span_id for each in found if each.name == "POST /"}
    assert second.parent.span_id in requests
    assert {link.context.span_id for link in second.links} < requests
    assert (len(second.links), second.attributes["db.operation.batch.size"]) == (2, 3)
    data: Any = reader.get_metrics_data()
    points = {
        point.attributes["webapp.history.result"]: point.value
        for metric in data.resource_metrics[0].scope_metrics[0].metrics
        if metric.name == "webapp.history.events"
        for point in metric.data.data_points
    }
    assert points == {"recorded": 4, "duplicate": 0, "ignored": 0, "refused": 0, "not_recorded": 0}
    provider.shutdown()
    meters.shutdown()
