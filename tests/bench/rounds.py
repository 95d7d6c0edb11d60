"""One contender on one fresh control plane: create, rest, single edits, an image for all, grow, rest, restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from functions.webapp.resources import DEPLOYMENT, OWNED, SYSTEM_NAMESPACE, RawObject
from tests.bench import figures, usage
from tests.bench.contenders import Contender, Running
from tests.bench.figures import Phase, Round
from tests.bench.observer import Observer, State
from tests.bench.rig import Rig, name_of
from tests.bench.usage import Clock, Memory, Peaks

NEW_IMAGE = "registry.example/web:2"
_LIMIT_SECONDS = 900.0
_AFTER_SECONDS = 2.0
_PAUSE_SECONDS = 0.2
_STRIDE = 7919  # a prime: edits fall on WebApps far apart


@dataclass(frozen=True)
class Course:
    """What a round asks: `sizes` WebApps to rest with, the first of them created in one timed burst."""

    sizes: tuple[int, ...] = (500, 2000)
    edits: int = 20
    quiet_seconds: float = 12.0
    controllers: bool = False


def run(contender: Contender, course: Course) -> Round:
    """Measure one round; raises TimeoutError when the contender does not keep up at all."""
    with Rig(controllers=course.controllers) as rig, Observer(rig.cluster.kubeconfig) as observer:
        begun = time.monotonic()
        stage = _Stage(rig, observer, contender, contender.launch(rig))
        with Peaks(lambda: stage.running.roles) as peaks:
            return _measure(stage, peaks, course, begun)


def _measure(stage: _Stage, peaks: Peaks, course: Course, begun: float) -> Round:
    first = stage.prove(begun)
    time.sleep(course.quiet_seconds)
    idle = stage.memory()
    size, *larger = course.sizes
    create = stage.burst(range(size), stage.rig.create)
    mark = stage.rig.cluster.mark()
    time.sleep(course.quiet_seconds)
    quiet_writes = figures.writes(stage.requests(mark))
    rest, restarted = {size: stage.memory()}, dict[int, Mapping[str, Memory]]()
    edit = stage.edits(size, course.edits)
    image = stage.burst(range(size), lambda number: stage.rig.change(number, image=NEW_IMAGE))
    peak = peaks.read()
    restarted[size] = stage.restart(course.quiet_seconds)
    for more in larger:
        stage.burst(range(size, more), stage.rig.create)
        time.sleep(course.quiet_seconds)
        rest[more] = stage.memory()
        restarted[more] = stage.restart(course.quiet_seconds)
        size = more
    contender = stage.contender
    return Round(
        contender.name, contender.resident, first, idle, create, rest, restarted, peak, quiet_writes, edit, image
    )


class _Stage:
    def __init__(self, rig: Rig, observer: Observer, contender: Contender, running: Running) -> None:
        self.rig = rig
        self.contender = contender
        self.running = running
        self._observer = observer

    def prove(self, begun: float) -> float:
        """Seconds from the start of the processes until a first WebApp was done; it is removed again."""
        state = _state(self.rig.create(99_998))
        done = self._observer.await_states({state}, _LIMIT_SECONDS)
        self.rig.clear()
        return done[state] - begun

    def memory(self) -> dict[str, Memory]:
        return {role: usage.memory(usage.family(pid)) for role, pid in self.running.roles.items()}

    def requests(self, mark: int) -> list[dict[str, Any]]:
        users = [f"system:serviceaccount:{SYSTEM_NAMESPACE}:{account}" for account in self.contender.accounts]
        return [each for user in users for each in self.rig.cluster.audit(user, mark)]

    def restart(self, quiet_seconds: float) -> dict[str, Memory]:
        """Memory after a new start onto what is there, as after a node was drained."""
        for name in ("bridge", "function", "go", "kopf"):
            self._stop(name)
        self.running = self.contender.launch(self.rig)
        time.sleep(quiet_seconds)
        return self.memory()

    def _stop(self, name: str) -> None:
        try:
            self.rig.processes[name].stop()
        except KeyError:
            return

    def burst(self, numbers: Sequence[int], act: Callable[[int], RawObject]) -> Phase:
        """The same act on many WebApps by several people at once."""

        def one(number: int) -> tuple[State, float]:
            return _state(act(number)), time.monotonic()

        def everybody() -> dict[State, float]:
            with self.rig.parallel() as pool:
                return dict(pool.map(one, numbers))

        return self._phase(len(numbers), everybody, self._stale(list(numbers)))

    def edits(self, size: int, count: int) -> Phase:
        """One edit at a time, each awaited before the next."""
        values = {(turn * _STRIDE) % size: str(turn) for turn in range(1, count + 1)}

        def one_by_one() -> dict[State, float]:
            asked = {}
            for number, value in values.items():
                state = _state(self.rig.change(number, env=[{"name": "SEQ", "value": value}]))
                asked[state] = time.monotonic()
                self._observer.await_states({state}, _LIMIT_SECONDS)
                time.sleep(_PAUSE_SECONDS)
            return asked

        return self._phase(len(values), one_by_one, lambda: self._unlike(values))

    def _phase(self, count: int, act: Callable[[], dict[State, float]], stale: Callable[[], int]) -> Phase:
        mark, events = self.rig.cluster.mark(), self.running.events
        sent, clock, begun = events() if events else 0.0, Clock.read(self.running.roles), time.monotonic()
        asked = act()
        done = self._observer.await_states(set(asked), _LIMIT_SECONDS)
        spent = Clock.read(self.running.roles).since(clock)
        late = stale()
        time.sleep(_AFTER_SECONDS)
        phase = Phase(
            count,
            round(max(done[state] for state in asked) - begun, 3),
            figures.latency(done[state] - when for state, when in asked.items()),
            {role: round(1000 * seconds / count, 2) for role, seconds in spent.roles.items()},
            round(spent.others, 2),
            late,
            figures.per_webapp(self.requests(mark), count),
        )
        return replace(phase, events=round((events() - sent) / count, 2)) if events else phase

    def _stale(self, numbers: list[int]) -> Callable[[], int]:
        """Counts children that are missing, and Deployments without the image that their WebApp has."""

        def count() -> int:
            children = self.rig.children()
            wanted = {name_of(number) for number in numbers}
            missing = sum(len(wanted - {each["metadata"]["name"] for each in children[kind.kind]}) for kind in OWNED)
            images = {each["metadata"]["name"]: _container(each)["image"] for each in children[DEPLOYMENT.kind]}
            specs = self.rig.webapps()
            return missing + len([name for name in wanted if images.get(name) != specs[name]["image"]])

        return count

    def _unlike(self, values: Mapping[int, str]) -> int:
        deployments = {each["metadata"]["name"]: each for each in self.rig.children()[DEPLOYMENT.kind]}
        wanted = {name_of(number): {"name": "SEQ", "value": value} for number, value in values.items()}
        return sum(env not in _container(deployments[name]).get("env", ()) for name, env in wanted.items())


def _container(deployment: RawObject) -> dict[str, Any]:
    found: dict[str, Any] = deployment["spec"]["template"]["spec"]["containers"][0]
    return found


def _state(webapp: RawObject) -> State:
    return webapp["metadata"]["name"], webapp["metadata"]["generation"]
