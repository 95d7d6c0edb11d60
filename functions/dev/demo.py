"""A tour of the operator on a control plane of its own, each step with what must hold at its end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Protocol, Self

from cloudevents.core.v1.event import CloudEvent

from functions.dev import history, manifests
from functions.dev.answer import Answer
from functions.dev.cluster import KubectlError
from functions.dev.controlplane import ControlPlane
from functions.dev.history import History
from functions.dev.operator import Operator
from functions.dev.processes import ProcessGroup
from functions.dev.tap import Tap
from functions.webapp.resources import DEFAULT_GROUP, SYSTEM_NAMESPACE

OTHER_GROUP = "mycompany.com"
SAMPLES = {DEFAULT_GROUP: "webapp.yaml", OTHER_GROUP: "my-webapp.yaml"}
NAMESPACES = ("webapp-demo", "demo")
RECONCILER = f"system:serviceaccount:{SYSTEM_NAMESPACE}:webapp-reconciler"
QUIET_SECONDS = 0.5
SETTLE_SECONDS = 15.0
GRACE_SECONDS = 1.0
"""How long the operator may take to end; nobody needs its state any more."""


class StepFailed(Exception):
    """Something did not hold; the message says what was seen."""


@dataclass(slots=True)
class Step:
    """One step: what is done, what must hold then, and what it took; API calls by the API server's audit log."""

    title: str
    claim: str
    failure: str = ""
    seconds: float = 0.0
    events: int = 0
    api_calls: int = 0
    writes: int = 0


class Audience(Protocol):
    """Who watches."""

    def doing(self, what: str) -> None:
        """Something begins that takes a while."""

    def begins(self, step: Step) -> None:
        """A step begins."""

    def event(self, event: CloudEvent, answer: Answer) -> None:
        """An event was handled; may come from another thread."""

    def ended(self, step: Step) -> None:
        """A step is over; its `failure` is empty if all held."""


@dataclass(slots=True)
class Stage:
    """What the steps play with, and the traffic so far."""

    cluster: ControlPlane
    audience: Audience
    functions: dict[str, str] = field(default_factory=dict)
    history: History | None = None
    seen: list[tuple[CloudEvent, Answer]] = field(default_factory=list)
    latest: float = 0.0

    def kubectl(self, command: str, *more: str) -> str:
        """Run kubectl with arguments by spaces, `more` as they are."""
        return self.cluster.kubectl(*command.split(), *more)

    def keep(self, event: CloudEvent, answer: Answer) -> None:
        """Take note of one event; the taps call this."""
        self.seen.append((event, answer))
        self.latest = time.monotonic()
        self.audience.event(event, answer)

    def settle(self) -> None:
        """Return once no event has come for a moment."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline and time.monotonic() - self.latest < QUIET_SECONDS:
            time.sleep(QUIET_SECONDS / 8)

    def calls(self, since: int) -> tuple[int, int]:
        """API calls of the function since a mark of the audit log, and how many of them wrote."""
        requests = self.cluster.audit(RECONCILER, since)
        verbs = Counter(request["verb"] for request in requests if request["responseStatus"]["code"] < 400)
        return len(requests), sum(count for verb, count in verbs.items() if verb != "get")


Play = Callable[[Stage], None]


class Demo:
    """A context with the whole stage in it: control plane, both API groups, and an operator for each.

    `settings` are environment variables for functions and bridges.
    """

    def __init__(self, audience: Audience, settings: Mapping[str, str] | None = None) -> None:
        self._audience = audience
        self._settings = dict(settings or {})

    def __enter__(self) -> Self:
        say = self._audience.doing
        with ExitStack() as stack:
            say("starting etcd, kube-apiserver, controllers, scheduler and a fake node")
            self.stage = Stage(stack.enter_context(ControlPlane()), self._audience)
            say(f"installing CRD and RBAC for {DEFAULT_GROUP} and {OTHER_GROUP}")
            self.stage.cluster.install()
            self.stage.cluster.install_another(OTHER_GROUP)
            for name in NAMESPACES:
                self.stage.kubectl(f"create namespace {name}")
            processes = stack.enter_context(ProcessGroup(grace=GRACE_SECONDS))
            if history.is_installed():
                self.stage.history = stack.enter_context(History(self.stage.cluster, processes, self._settings))
            for group in SAMPLES:
                say(f"starting function and bridge for {group}")
                operator = Operator(self.stage.cluster, processes, group)
                more = self._record(operator)
                url = self.stage.functions[group] = operator.start_function(self._settings)
                tap = stack.enter_context(Tap(url, self.stage.keep, report=True))
                operator.start_bridge(tap.url, self._settings | more)
            if self.stage.history:
                say("registering the history")
                self.stage.history.serve()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _record(self, operator: Operator) -> dict[str, str]:
        kept = self.stage.history
        return {"BRIDGE_HISTORY_SINK": kept.recorder(operator)} if kept else {}

    def run(self, steps: list[tuple[Step, Play]]) -> Iterator[Step]:
        """Play the steps in turn; one that does not hold is told in its `failure`, and the tour goes on."""
        stage = self.stage
        for step, play in steps:
            stage.audience.begins(step)
            since, before, begun = stage.cluster.mark(), len(stage.seen), time.monotonic()
            try:
                play(stage)
            except (StepFailed, KubectlError) as error:
                step.failure = str(error)
            stage.settle()
            step.seconds = round(time.monotonic() - begun, 1)
            step.events = len(stage.seen) - before
            step.api_calls, step.writes = stage.calls(since)
            stage.audience.ended(step)
            yield step


def hold(claim: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Raise StepFailed unless the claim holds."""
    if not claim:
        raise StepFailed(otherwise)


def sample(group: str) -> str:
    """The public sample of a group, word for word."""
    return manifests.sample(SAMPLES[group])


def exists(stage: Stage, what: str) -> bool:
    """Whether kubectl finds it."""
    with suppress(KubectlError):
        return bool(stage.kubectl(f"get {what} -o name"))
    return False
