"""client-go's own informer ends with exactly the database's rows, whatever happens on the way."""

import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from functions.aggregation.collection import Selection
from functions.dev.build import Part
from functions.dev.cluster import KubectlError
from tests.bench.peers import programs
from tests.cluster.admin import until
from tests.history.apiserver.conftest import RECONCILES
from tests.history.runs import rows

SOURCE = Path(__file__).parents[1] / "informer"
PART = Part(name="informer", module="history/informer", files={"informer": "informer"}, minutes=2)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
COUNT = 10_000 if os.environ.get("CI") else 4_000
WRITERS, BATCH = 4, 50


class Informer:
    """The Go program on one namespace; `watch_list` chooses how it begins."""

    def __init__(self, plane, team, *, watch_list):
        command = [programs.built(PART, SOURCE) / "informer", plane.kubeconfig, RECONCILES.group, RECONCILES.version]
        self._command = [*command, RECONCILES.plural, team]
        self._log = plane.folder / f"informer-{team}.log"
        self._env = {**os.environ, "KUBE_FEATURE_WatchListClient": str(watch_list).lower()}

    def __enter__(self):
        with self._log.open("wb") as log:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log}
            self._process = subprocess.Popen(self._command, **pipes, env=self._env, text=True)
        until(lambda: self.ask()["synced"])
        return self

    def __exit__(self, *_):
        self._process.communicate()

    def log(self):
        """Why its watches ended, among other things."""
        return self._log.read_text()

    @contextmanager
    def asleep(self):
        """It does nothing inside, and hears of nothing."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.wake()

    def wake(self):
        """It goes on."""
        self._process.send_signal(signal.SIGCONT)

    def ask(self):
        """Its cache and its counts now."""
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        asked.write("\n")
        asked.flush()
        return json.loads(told.readline())

    def holds(self, count):
        """Whether its cache has so many objects."""
        return len(self.ask()["objects"]) == count

    def agrees(self, objects):
        """Whether its cache is what `objects` gives now."""
        return self.ask()["objects"] == objects()


def test_informers_end_with_the_rows_of_the_database(plane, history, store, team):
    store.append(rows(700, 1_000_000, namespace=team, started_at=LONG_AGO))

    def write(part):
        share = COUNT // WRITERS
        for start in range(0, share, BATCH):
            store.append(rows(BATCH, part * share + start, namespace=team, webapp=f"web-{part}"))

    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(WRITERS))
        informers = [stack.enter_context(Informer(plane, team, watch_list=each)) for each in (True, False)]
        assert [len(each.ask()["objects"]) for each in informers] == [700, 700]
        writing = [pool.submit(write, part) for part in range(WRITERS)]
        history.restart()
        for each in writing:
            each.result()
        for informer in informers:
            until(partial(informer.holds, COUNT + 700), 90)
            found = informer.ask()
            assert found["objects"] == kept(store, team)
            assert (found["added"], found["updated"], found["deleted"]) == (COUNT + 700, 0, 0)
            assert "list again" not in informer.log()

        for informer in informers:
            stack.enter_context(informer.asleep())
        history.restart()
        _replace(store, team)
        until(partial(_served, plane, team), 60)  # the aggregator may still take it for gone
        for informer in informers:
            informer.wake()
            until(partial(informer.agrees, partial(kept, store, team)), 90)
            assert informer.ask()["deleted"] == 700
        # one that meets a 503 first lists anew by itself, and is never told 410
        assert any("list again" in informer.log() for informer in informers)


def _served(plane, team):
    try:
        return plane.kubectl("get", RECONCILES.plural, "-n", team, "-o", "name")
    except KubectlError:
        return ""


def _replace(store, team):
    """Rows come, others go for good: no watch can go on from before."""
    store.append(rows(20, 2_000_000, namespace=team))
    now = datetime.now(UTC)
    store.prune(10**9, timedelta(days=2000), now)
    removed = store.prune(10**9, timedelta(days=2000), now + timedelta(seconds=1), linger=timedelta(0))
    assert removed.removed >= 700


def kept(store, team):
    """What the database has, as name and version."""
    objects = store.list(Selection(team), 0).objects
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in objects}
