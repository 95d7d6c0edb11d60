"""The recorder as a process: many events, twice each, and what a kill, a freeze and an outage make of them."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import pytest

from functions.aggregation.collection import Selection
from functions.dev.postgres import Postgres
from functions.dev.process_tree import signal_all
from functions.dev.processes import LOOPBACK
from tests.history.conftest import open_store
from tests.history.recorder.conftest import RecorderProcess
from tests.history.runs import request, row

EVENTS = 10_000 if os.environ.get("CI") else 1_000
SENDERS = 24
KEEP_ALL = {"HISTORY_KEEP_RUNS": "1000000", "HISTORY_KEEP_DAYS": "36500"}


class Senders:
    """Sends events over kept connections, each until it is answered 204; counts the answers."""

    def __init__(self, port):
        self.port = port
        self.answers: Counter[int | str] = Counter()
        self.acknowledged, self.stop = set(), threading.Event()
        self._counting = threading.Lock()

    def send(self, numbers, patience=0.05):
        connection = HTTPConnection(LOOPBACK, self.port, timeout=30)
        for number in numbers:
            headers, body = request(number)
            while not self.stop.is_set():
                try:
                    connection.request("POST", "/", body, headers)
                    answer = connection.getresponse()
                    answer.read()
                except OSError:
                    connection.close()
                    self._count("broken")
                else:
                    self._count(answer.status)
                    if answer.status == 204:
                        self.acknowledged.add(number)
                        break
                self.stop.wait(patience)
        connection.close()

    def _count(self, answer):
        with self._counting:
            self.answers[answer] += 1

    def all(self, numbers):
        parts = [numbers[start::SENDERS] for start in range(SENDERS)]
        with ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(self.send, parts))


def stored(url):
    store = open_store(url)
    found = {each["metadata"]["name"] for each in store.list(Selection(), 0).objects}
    store.close()
    return found


@pytest.mark.timeout(600)
def test_every_event_that_is_sent_twice_is_recorded_once(group, url):
    recorder = RecorderProcess(group, url, **KEEP_ALL)
    senders = Senders(recorder.port)
    twice = [number for number in range(EVENTS) for _ in range(2)]
    senders.all(twice)
    assert senders.answers == {204: 2 * EVENTS}
    assert stored(url) == {row(number).name for number in range(EVENTS)}


def test_what_was_answered_204_survives_a_kill_of_the_recorder(group, url):
    recorder = RecorderProcess(group, url, **KEEP_ALL)
    senders = Senders(recorder.port)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(senders.all, list(range(400)))
        for _ in range(2):
            before = len(senders.acknowledged)
            while len(senders.acknowledged) < before + 60:
                senders.stop.wait(0.01)
            kill(recorder)
            acknowledged = set(senders.acknowledged)
            assert {row(number).name for number in acknowledged} <= stored(url)
            recorder.start()
        running.result()
    assert senders.answers["broken"] > 0
    assert stored(url) == {row(number).name for number in range(400)}


def kill(recorder):
    """The worker as well: gunicorn's main process would start another."""
    signal_all(recorder.process.pid, signal.SIGKILL)
    recorder.process.wait(10)


def test_a_frozen_database_costs_a_503_and_no_probe_and_no_event(group):
    with Postgres() as server:
        url = server.database()
        environ = {"HISTORY_STATEMENT_SECONDS": "0.5", "HISTORY_THREADS": "8", **KEEP_ALL}
        recorder = RecorderProcess(group, url, **environ)
        assert recorder.post(request(0)).status == 204
        senders = Senders(recorder.port)
        server.freeze()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(senders.all, list(range(1, 60)))
            while senders.answers[503] < 30:
                assert recorder.get("/health/readiness") == 200
                senders.stop.wait(0.1)
            server.thaw()
            running.result()
        assert set(senders.answers) == {204, 503}
        assert stored(url) == {row(number).name for number in range(60)}


def test_a_killed_database_loses_no_event_and_the_recorder_recovers_by_itself(group):
    with Postgres() as server:
        url = server.database()
        recorder = RecorderProcess(group, url, HISTORY_STATEMENT_SECONDS="0.5", **KEEP_ALL)
        senders = Senders(recorder.port)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(senders.all, list(range(300)))
            while len(senders.acknowledged) < 50:
                senders.stop.wait(0.01)
            server.kill()
            while senders.answers[503] < 20:
                senders.stop.wait(0.01)
            acknowledged = set(senders.acknowledged)
            server.start()
            running.result()
        assert set(senders.answers) == {204, 503}
        assert {row(number).name for number in acknowledged} <= stored(url)
        assert stored(url) == {row(number).name for number in range(300)}


def test_the_recorder_prunes_in_the_background(group, url):
    recorder = RecorderProcess(group, url, HISTORY_KEEP_RUNS="7", HISTORY_KEEP_DAYS="36500", HISTORY_PRUNE_SECONDS="1")
    senders = Senders(recorder.port)
    senders.all(list(range(40)))
    while len(found := stored(url)) > 7:
        senders.stop.wait(0.1)
    assert found == {row(number).name for number in range(33, 40)}


def test_a_recorder_starts_and_answers_probes_without_its_database(group):
    recorder = RecorderProcess(group, f"postgresql://nobody@{LOOPBACK}:1/none")
    assert recorder.get("/health/readiness") == 200
    assert recorder.get("/health/liveness") == 200
    answer = recorder.post(request(1))
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    assert recorder.get("/health/readiness") == 200
