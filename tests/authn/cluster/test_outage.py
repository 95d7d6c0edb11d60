"""An ill provider as users of a real API server see it: refused quickly, never multiplied, and well again at once."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from functions.dev.processes import ProcessGroup
from tests.authn.crowd import at_once
from tests.authn.hydra import Hook, Hydra
from tests.authn.webhook import SHIPPED

RUN = 5
"""Failures in a row that open the breaker."""


@pytest.fixture
def mortal():
    """A Hydra of the test's own, to be stopped and killed."""
    with Hook() as hook, ProcessGroup(grace=0.5) as group:
        yield Hydra(group, hook, "mortal")


def refused_one_by_one(users, count, prefix):
    """Status, duration of each of `count` users' only request, all with different tokens."""
    seen = []
    for number in range(count):
        begun = time.monotonic()
        seen.append((users.who(f"{prefix}-{number}"), time.monotonic() - begun))
    return seen


@pytest.mark.parametrize("mode", [500, 503, 429, 401, "reset", "hang"])
def test_every_kind_of_outage_is_a_quick_401_and_one_webhook_call_for_each_request(webhook, front, users, mode):
    webhook.start(front.url, **SHIPPED)
    assert webhook.breaker() == "closed"
    front.mode, began = mode, len(front.calls)
    seen = refused_one_by_one(users, RUN + 3, f"outage-{mode}")
    assert [status for status, _ in seen] == [401] * len(seen)
    assert max(seconds for _, seconds in seen) < 4
    assert webhook.decisions() == len(seen)
    assert len(front.calls) - began == (1 if mode == 401 else RUN)
    assert webhook.breaker() in {"open", "half_open"}  # half-open where the refusals took longer than it was open


def test_killed_provider_is_a_quick_401_and_its_return_is_noticed(webhook, mortal, users):
    """Without a front: nobody listens any more."""
    token = mortal.token(mortal.client("kim"))
    webhook.start(mortal.introspection, **SHIPPED)
    mortal.process.signal(signal.SIGKILL)
    mortal.process.wait(5)
    seen = refused_one_by_one(users, RUN + 5, "killed")
    assert [status for status, _ in seen] == [401] * len(seen)
    assert max(seconds for _, seconds in seen) < 4
    assert webhook.decisions() == len(seen)
    assert webhook.metrics()["webapp_authn_provider_calls_total/unreachable"] == RUN
    assert users.who(token) == 401


def test_stopped_provider_serves_known_users_and_costs_no_more_than_threshold_and_probes(webhook, front, mortal, users):
    front.upstream = mortal.admin
    known = [mortal.token(mortal.client(f"known-{number}")) for number in range(5)]
    webhook.start(front.url, CACHE_SECONDS="1", **SHIPPED)
    assert all(isinstance(users.who(token), dict) for token in known)
    time.sleep(1)
    mortal.process.signal(signal.SIGSTOP)
    began, stop = len(front.calls), time.monotonic()
    strangers = at_once(users.who, [f"stopped-{number}" for number in range(1000)])
    assert strangers == [401] * 1000
    while time.monotonic() - stop < 12:
        assert all(webhook.review(token)["authenticated"] for token in known)
        time.sleep(0.5)
    probes = webhook.metrics()["webapp_authn_breaker_turns_total/half_open"]
    assert (
        len(front.calls) - began <= 8 + 5 + probes
    )  # those that were out at once when it stopped, the run, the probes
    mortal.process.signal(signal.SIGCONT)
    fresh = [mortal.token(mortal.client(f"fresh-{number}")) for number in range(20)]
    recovered = time.monotonic()
    while users.who(fresh[0]) == 401:
        assert time.monotonic() - recovered < 60
        time.sleep(0.2)
    second = at_once(users.who, fresh[1:2])
    assert isinstance(second[0], dict)
    assert webhook.breaker() == "closed"
    assert all(isinstance(each, dict) for each in at_once(users.who, fresh[2:], width=4))  # nobody's refusal was cached


def test_known_token_is_refused_past_its_grace(webhook, front, hydra, users):
    token = hydra.token(hydra.client("grace"))
    webhook.start(front.url, CACHE_SECONDS="1", GRACE_SECONDS="3")
    assert webhook.review(token)["authenticated"]
    front.mode = 500
    time.sleep(1)
    assert webhook.review(token)["authenticated"]
    assert webhook.metrics()["webapp_authn_stale_total"] == 1
    time.sleep(2)
    assert webhook.review(token)["error"]
    assert users.who(token) == 401


def test_known_token_is_refused_past_its_exp(webhook, front, hydra):
    webhook.start(front.url)
    token = hydra.token(hydra.client("mayfly", lifespan="4s"))
    assert webhook.review(token)["authenticated"]
    front.mode = 500
    time.sleep(4)
    assert "user" not in webhook.review(token)


def test_half_open_breaker_lets_one_of_fifty_requests_through(webhook, front, hydra):
    webhook.start(front.url, BREAKER_OPEN_SECONDS="1")
    front.mode = 401
    webhook.review("trips-the-breaker")
    front.mode, began = 4.0, len(front.calls)
    time.sleep(1.5)
    seen = at_once(webhook.review, [f"half-open-{number}" for number in range(50)])
    assert len(front.calls) - began == 1
    assert sum("error" not in status for status in seen) == 1


def test_webhook_killed_in_the_middle_of_a_call_lets_nobody_in(webhook, front, hydra, users, plane):
    token = hydra.token(hydra.client("halfway"))
    webhook.start(front.url)
    front.mode, began = 3.0, len(front.calls)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(users.who, token)
        while len(front.calls) == began:
            time.sleep(0.01)
        webhook.kill()
        assert asked.result() == 401
    assert "system:masters" in plane.kubectl("auth", "whoami")  # the certificate's admin never noticed
