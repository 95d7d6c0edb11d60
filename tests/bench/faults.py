"""Changes to WebApps while something fails: how many of them no event ever tells of."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from functions.runtime import kube
from functions.webapp.errors import ApiError
from functions.webapp.resources import DEPLOYMENT
from tests.bench import figures, usage
from tests.bench.figures import Latency
from tests.bench.rig import NAMESPACE, RESOURCE, Rig, name_of
from tests.bench.sink import Mood, Sink
from tests.bench.sources import Source
from tests.bench.usage import Memory

_POLL_SECONDS = 0.2
_RETRY_SECONDS = 0.05
_ALIVE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Change:
    """One edit: its number, whose it is, and when it was sent and answered."""

    number: int
    name: str
    sent: float
    answered: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One fault once: `lost` changes are those that no later event covers; `slowest` is of those that arrived."""

    changes: int
    lost: int
    slowest_seconds: float
    posts: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Rate:
    """Changes at a steady rate without a fault: from the change's answer to its POST."""

    changes: int
    reached_per_second: float
    posts: int
    lost: int
    latency: Latency
    cpu_ms: float
    memory: Memory


@dataclass(frozen=True)
class Campaign:
    """A rig with `objects` WebApps, one source and one sink. `patience` is how long nothing may come in the end."""

    rig: Rig
    sink: Sink
    source: Source
    objects: int = 500
    patience_seconds: float = 20.0
    down_seconds: float = 1.0
    _numbers: list[int] = field(default_factory=lambda: [0], repr=False)

    def begin(self) -> None:
        """Fill the namespace, start the source, wait for its first event."""
        with self.rig.parallel() as pool:
            list(pool.map(self._fill, range(self.objects)))
        self.source.start(self.rig, self.sink.url)
        self.alive()

    def alive(self) -> None:
        """Change one WebApp until an event comes; raises TimeoutError where none does."""
        start, deadline = len(self.sink.posts()), time.monotonic() + _ALIVE_SECONDS
        while not self.sink.posts(start):
            if time.monotonic() > deadline:
                raise TimeoutError(f"no event from {self.source.name} in {_ALIVE_SECONDS:g} s")
            self.change(self.objects - 1)
            time.sleep(_POLL_SECONDS)
        self._silence(1.0, _ALIVE_SECONDS)

    def change(self, number: int, patience: float = 0.0) -> Change:
        """Edit one WebApp; tried again for `patience` seconds while the API server is away."""
        self._numbers[0] += 1
        turn, deadline = self._numbers[0], time.monotonic() + patience
        while True:
            sent = time.monotonic()
            try:
                self.rig.change(number % self.objects, env=[{"name": "SEQ", "value": str(turn)}])
                return Change(turn, name_of(number % self.objects), sent, time.monotonic())
            except ApiError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_SECONDS)

    def suffer(self, fault: Fault) -> Cell:
        """Make the fault's changes while it happens, then wait until every event is there or none comes any more."""
        self.alive()
        start, changes = len(self.sink.posts()), list[Change]()
        happening = threading.Thread(target=fault.happens, args=(self,))
        for number in range(fault.changes):
            if number == fault.at:
                happening.start()
            begun = time.monotonic()
            changes.append(self.change(number, fault.patience_seconds))
            time.sleep(max(0.0, fault.seconds / fault.changes - (time.monotonic() - begun)))
        happening.join()
        arrived = self.arrivals(changes, start)
        delays = [when - change.answered for change, when in zip(changes, arrived, strict=True) if when is not None]
        posts = self.sink.posts(start)
        ids = Counter(post.id for post in posts if 200 <= post.answer < 300)
        return Cell(
            len(changes),
            arrived.count(None),
            round(max(delays, default=0.0), 2),
            len(posts),
            sum(count - 1 for count in ids.values()),
        )

    def steady(self, per_second: int = 100, seconds: int = 20) -> Rate:
        """Changes at a rate, each to the next WebApp."""
        self.alive()
        total, start, family = per_second * seconds, len(self.sink.posts()), usage.family(self.source.pid(self.rig))
        cpu, begun = usage.cpu_seconds(family), time.monotonic()

        def one(number: int) -> Change:
            time.sleep(max(0.0, begun + number / per_second - time.monotonic()))
            return self.change(number)

        with self.rig.parallel() as pool:
            changes = list(pool.map(one, range(total)))
        took = time.monotonic() - begun
        arrived = self.arrivals(changes, start)
        delays = [when - change.answered for change, when in zip(changes, arrived, strict=True) if when is not None]
        spent = usage.cpu_seconds(family) - cpu
        return Rate(
            total,
            round(total / took, 1),
            len(self.sink.posts(start)),
            arrived.count(None),
            figures.latency(delays),
            round(1000 * spent / total, 2),
            usage.memory(family),
        )

    def arrivals(self, changes: list[Change], start: int) -> list[float | None]:
        """When the first event came that covers each change."""
        deadline = time.monotonic() + self.patience_seconds
        while True:
            posts = self.sink.posts(start)
            covering = [
                min((post.when for post in posts if post.covers(each.name, each.number, each.sent)), default=None)
                for each in changes
            ]
            if None not in covering:
                return covering
            if time.monotonic() > max(deadline, posts[-1].when + self.patience_seconds if posts else 0.0):
                return covering
            time.sleep(_POLL_SECONDS)

    def _silence(self, seconds: float, limit: float) -> None:
        """Wait until nothing has come for so long."""
        deadline = time.monotonic() + limit
        while time.monotonic() < min(deadline, self.sink.posts()[-1].when + seconds):
            time.sleep(_POLL_SECONDS)

    def _fill(self, number: int) -> None:
        webapp = self.rig.create(number)
        meta, label = webapp["metadata"], {"app": webapp["metadata"]["name"]}
        owner = {
            "apiVersion": RESOURCE.api_version,
            "kind": RESOURCE.kind,
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        template = {
            "metadata": {"labels": label},
            "spec": {"containers": [{"name": "app", "image": webapp["spec"]["image"]}]},
        }
        deployment = {
            "apiVersion": DEPLOYMENT.api_version,
            "kind": DEPLOYMENT.kind,
            "metadata": {"name": meta["name"], "namespace": NAMESPACE, "ownerReferences": [owner]},
            "spec": {"replicas": 0, "selector": {"matchLabels": label}, "template": template},
        }
        self.rig.send(kube.create(DEPLOYMENT, deployment))


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong after change number `at` of `changes` that take `seconds` altogether."""

    name: str
    happens: Callable[[Campaign], None] = field(repr=False)
    seconds: float
    at: int = 0
    changes: int = 50
    patience_seconds: float = 0.0


def killed(campaign: Campaign) -> None:
    """The source dies at once and is started again, as the kubelet would."""
    campaign.source.kill(campaign.rig)
    time.sleep(campaign.down_seconds)
    campaign.source.start(campaign.rig, campaign.sink.url)


def moody(mood: Mood, seconds: float) -> Callable[[Campaign], None]:
    """The sink answers like this for a while."""

    def happens(campaign: Campaign) -> None:
        campaign.sink.mood(mood)
        time.sleep(seconds)
        campaign.sink.mood(Mood.ACCEPT)

    return happens


def apiserver_restarted(campaign: Campaign) -> None:
    """The API server stops and starts; etcd keeps everything."""
    campaign.rig.cluster.stop_apiserver()
    campaign.rig.cluster.start_apiserver()


def table(outage_seconds: float = 10.0) -> tuple[Fault, ...]:
    """The five faults in which ApiServerSource was measured."""
    during = 0.9 * outage_seconds
    told = f"for {outage_seconds:g} s"
    return (
        Fault("kill -9, started again 1 s later", killed, 2.5, at=10),
        Fault(f"sink answers 500 {told}", moody(Mood.FAIL, outage_seconds), during),
        Fault(f"sink answers 503 {told}", moody(Mood.BUSY, outage_seconds), during),
        Fault(f"sink hangs {told}", moody(Mood.HANG, outage_seconds), during),
        Fault("API server restarted", apiserver_restarted, 2.5, at=10, patience_seconds=60.0),
    )
