"""An outage told twice: a provider stands still, once behind the naive webhook and once behind the shipped one.

`python -m tests.authn.story [--outage 60] [--picture docs/authn-outage.svg]` prints the figures and draws them.
"""

from __future__ import annotations

import argparse
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import urllib3

from functions.dev.certificates import CertificateAuthority
from functions.dev.processes import ProcessGroup, free_port
from tests.authn.conftest import control_plane
from tests.authn.crowd import at_once
from tests.authn.front import Front
from tests.authn.hydra import PATH, Hook, Hydra
from tests.authn.naive import Naive
from tests.authn.picture import draw
from tests.authn.webhook import SHIPPED, Users, Webhook

PERIOD = 10.0
"""Each client asks the API server once in so many seconds."""

CACHE = "10"
"""Shorter than shipped, so that the outage outlasts the cache and the grace is what serves."""


@dataclass(frozen=True)
class Shape:
    """Users, and seconds before, during and after the outage.

    Known users arrive slowly enough for the limit on strangers and are all known when it begins; newcomers arrive a
    third into it. After it the breaker may stay open for its last interval, and each client asks once in a `PERIOD`.
    """

    known: int = 200
    newcomers: int = 20
    before: float = 30.0
    outage: float = 60.0
    after: float = 70.0

    @classmethod
    def short(cls) -> Shape:
        """The same in a minute."""
        return cls(known=50, newcomers=10, before=8.0, outage=14.0, after=30.0)


@dataclass(frozen=True)
class Request:
    """One client's request; `at` is when it was sent, from the story's beginning."""

    at: float
    seconds: float
    served: bool
    user: int


@dataclass(frozen=True)
class Telling:
    """What one webhook made of the outage."""

    shape: Shape
    requests: tuple[Request, ...]
    calls: tuple[float, ...]

    @property
    def resumed(self) -> float:
        return self.shape.before + self.shape.outage

    @property
    def calls_in_outage(self) -> int:
        return sum(self.shape.before <= at < self.resumed for at in self.calls)

    @property
    def known_served(self) -> float:
        """The share of known users who were let in whenever they asked during the outage."""
        during = [
            each
            for each in self.requests
            if each.user < self.shape.known and self.shape.before <= each.at < self.resumed
        ]
        refused = {each.user for each in during if not each.served}
        return 1 - len(refused) / len({each.user for each in during})

    def last_refusal(self, *, known: bool) -> float:
        """Seconds from the provider's return to the last refusal; 0 if there was none after it."""
        ends = [
            each.at + each.seconds
            for each in self.requests
            if not each.served and (each.user < self.shape.known) is known
        ]
        return max(0.0, max(ends, default=0.0) - self.resumed)


@contextmanager
def shipped(webhook: Webhook, front: Front) -> Iterator[None]:
    webhook.start(front.url, CACHE_SECONDS=CACHE, **SHIPPED)
    yield
    webhook.stop()


@contextmanager
def naive(webhook: Webhook, front: Front) -> Iterator[None]:
    with Naive(webhook.port, webhook.certificate, front.url, webhook.authority):
        yield


def tell(variant, shape: Shape) -> Telling:
    """Live through one outage with real parts, all of them new."""
    with ExitStack() as stack:
        group = stack.enter_context(ProcessGroup(grace=0.5))
        authority = CertificateAuthority(group.folder, "story-ca")
        hydra = Hydra(group, stack.enter_context(Hook()))
        front = stack.enter_context(Front(hydra.admin, PATH, authority.issue("front", hosts=["127.0.0.1"])))
        front.patience = 5.0
        webhook = Webhook(group, authority, free_port(), group.folder)
        cluster = stack.enter_context(control_plane(webhook))
        names = [hydra.client(f"user-{number}") for number in range(shape.known + shape.newcomers)]
        tokens = at_once(hydra.token, names, width=8)
        stack.enter_context(variant(webhook, front))
        users = Users(cluster)
        requests = _live(users, tokens, shape, hydra)
        return Telling(shape, tuple(requests.taken), tuple(at - requests.beginning for at in front.calls))


class _Crowd:
    """Clients that ask at a steady rate, each in a thread, and take down how they fared."""

    def __init__(self, users: Users, end: float) -> None:
        self.beginning = time.monotonic()
        self.taken: list[Request] = []
        self._users = users
        self._end = end
        self._threads: list[threading.Thread] = []

    def join(self, tokens, over: float, first_user: int = 0) -> None:
        """Let users with a token each arrive evenly `over` so many seconds."""
        begin = self.now
        for number, token in enumerate(tokens):
            at = begin + over * number / len(tokens)
            thread = threading.Thread(target=self._ask, args=(token, at, first_user + number), daemon=True)
            thread.start()
            self._threads.append(thread)

    @property
    def now(self) -> float:
        return time.monotonic() - self.beginning

    def leave(self) -> None:
        for thread in self._threads:
            thread.join()

    def _ask(self, token, at, user):
        while at < self._end:
            time.sleep(max(0.0, at - self.now))
            sent = self.now
            try:
                served = isinstance(self._users.who(token), dict)
            except urllib3.exceptions.HTTPError:  # nobody answered at all
                served = False
            self.taken.append(Request(sent, self.now - sent, served, user))
            at = max(at + PERIOD, self.now)


def _live(users: Users, tokens, shape: Shape, hydra: Hydra) -> _Crowd:
    crowd = _Crowd(users, shape.before + shape.outage + shape.after)
    crowd.join(tokens[: shape.known], shape.before * 0.8)
    time.sleep(shape.before)
    hydra.process.signal(signal.SIGSTOP)
    time.sleep(shape.outage / 3)
    crowd.join(tokens[shape.known :], PERIOD / 2, shape.known)
    time.sleep(shape.outage * 2 / 3)
    hydra.process.signal(signal.SIGCONT)
    crowd.leave()
    return crowd


def report(name: str, telling: Telling) -> str:
    """The figures in one line."""
    known, new = (telling.last_refusal(known=each) for each in (True, False))
    return (
        f"{name}: {telling.calls_in_outage} provider calls during the outage; "
        f"{telling.known_served:.1%} of known users served throughout; "
        f"last refusal after the provider's return: {known:.1f} s for known users, {new:.1f} s for newcomers"
    )


def main() -> None:
    """Tell it, print the figures, draw the picture."""
    parser = argparse.ArgumentParser(prog="python -m tests.authn.story", description=__doc__)
    parser.add_argument("--outage", type=float, default=60.0, help="seconds that the provider stands still")
    parser.add_argument("--picture", type=Path, default=Path("docs/authn-outage.svg"), help="where the picture goes")
    arguments = parser.parse_args()
    shape = Shape(outage=arguments.outage)
    tellings = {}
    for name, variant in (("naive", naive), ("shipped", shipped)):
        tellings[name] = tell(variant, shape)
        print(report(name, tellings[name]), flush=True)
    arguments.picture.write_text(draw(tellings["naive"], tellings["shipped"]), encoding="utf-8")
    print(f"drew {arguments.picture}")


if __name__ == "__main__":
    main()
