"""Who leads, by two clocks that need not agree."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from event_bridge.lease import Lease
from event_bridge.settings import LeaseSettings
from functions.runtime.kube import Call
from functions.webapp.errors import ApiError, Conflict, NotFound, Unavailable


class Clock:
    """A clock that a test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Etcd:
    """One Lease with optimistic concurrency, and faults on demand: what a real API server does when it is healthy is
    tested on a real one."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.down = False
        self.writes = 0

    def send(self, call: Call, **_: object) -> dict[str, Any]:
        if self.down:
            raise Unavailable("refused")
        if call.method == "GET":
            if self.lease is None:
                raise NotFound("no lease", code=404)
            return deepcopy(self.lease)
        body = deepcopy(dict(call.body))
        if (call.method == "POST") != (self.lease is None):
            raise Conflict("exists", code=409)
        if self.lease and body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise Conflict("stale", code=409)
        self.version += 1
        self.writes += 1
        self.lease = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
        return deepcopy(self.lease)


@pytest.fixture
def etcd() -> Etcd:
    return Etcd()


def candidate(etcd: Etcd, name: str) -> tuple[Lease, Clock]:
    clock = Clock()
    return Lease(LeaseSettings("webapp-system", "webapp-bridge", name), etcd, clock), clock


def leads(lease: Lease) -> bool:
    return lease.holds


def spec(etcd: Etcd) -> dict[str, Any]:
    assert etcd.lease is not None
    return dict(etcd.lease["spec"])


def test_the_first_one_leads_and_the_second_stands_by(etcd: Etcd) -> None:
    (one, _), (two, _) = candidate(etcd, "one"), candidate(etcd, "two")
    for lease in (one, two, one, two):
        lease.attempt()
    assert (one.holds, two.holds, two.holder) == (True, False, "one")
    assert (spec(etcd)["leaseDurationSeconds"], spec(etcd)["leaseTransitions"]) == (15, 0)


def test_a_holder_that_cannot_renew_stops_before_anybody_can_take_over(etcd: Etcd) -> None:
    (one, clock_one), (two, clock_two) = candidate(etcd, "one"), candidate(etcd, "two")
    one.attempt()
    two.attempt()
    clock_one.now += 9.9
    assert leads(one)
    clock_one.now += 0.1
    assert not leads(one)
    clock_two.now += 14.9
    two.attempt()
    assert not leads(two)
    clock_two.now += 0.1
    two.attempt()
    assert (two.holds, spec(etcd)["holderIdentity"], spec(etcd)["leaseTransitions"]) == (True, "two", 1)
    one.attempt()
    assert (one.holds, one.holder) == (False, "two")


def test_validity_counts_from_before_the_request(etcd: Etcd) -> None:
    lease, clock = candidate(etcd, "one")
    real = etcd.send

    def slow(call: Call, **_: object) -> dict[str, Any]:
        clock.now += 4
        return real(call)

    etcd.send = slow  # type: ignore[method-assign]
    lease.attempt()
    clock.now += 2.1
    assert not leads(lease)


def test_the_standbys_wait_starts_again_with_every_renewal_it_sees(etcd: Etcd) -> None:
    (one, _), (two, clock) = candidate(etcd, "one"), candidate(etcd, "two")
    one.attempt()
    for _ in range(5):
        two.attempt()
        clock.now += 14
        one.attempt()
    two.attempt()
    assert not leads(two)


def test_who_sleeps_and_wakes_late_may_not_send(etcd: Etcd) -> None:
    (one, clock_one), (two, clock_two) = candidate(etcd, "one"), candidate(etcd, "two")
    one.attempt()
    two.attempt()
    clock_one.now = clock_two.now = 1020.0
    two.attempt()
    assert (one.holds, two.holds) == (False, True)
    one.attempt()
    assert not leads(one)


def test_a_release_lets_the_next_one_lead_at_once(etcd: Etcd) -> None:
    (one, _), (two, _) = candidate(etcd, "one"), candidate(etcd, "two")
    one.attempt()
    two.attempt()
    one.release()
    assert not leads(one)
    assert (spec(etcd)["holderIdentity"], spec(etcd)["leaseDurationSeconds"]) == ("", 1)
    two.attempt()
    assert (two.holds, spec(etcd)["leaseTransitions"]) == (True, 1)


def test_who_does_not_hold_it_releases_nothing(etcd: Etcd) -> None:
    (one, _), (two, _) = candidate(etcd, "one"), candidate(etcd, "two")
    one.attempt()
    two.attempt()
    two.release()
    assert etcd.writes == 1


def test_an_api_server_that_is_away_leaves_the_holder_its_time(etcd: Etcd) -> None:
    lease, clock = candidate(etcd, "one")
    lease.attempt()
    etcd.down = True
    clock.now += 5
    with pytest.raises(ApiError):
        lease.attempt()
    assert leads(lease)
    clock.now += 5
    assert not leads(lease)
    etcd.down = False
    lease.attempt()
    assert leads(lease)


def test_an_annotation_that_somebody_puts_on_it_costs_no_leadership(etcd: Etcd) -> None:
    lease, _ = candidate(etcd, "one")
    lease.attempt()
    assert etcd.lease is not None
    etcd.version += 1
    etcd.lease["metadata"] |= {"resourceVersion": str(etcd.version), "annotations": {"x": "y"}}
    lease.attempt()
    assert leads(lease)
    assert etcd.lease["metadata"]["annotations"] == {"x": "y"}


def test_a_lease_that_somebody_else_wrote_is_not_overwritten(etcd: Etcd) -> None:
    (one, _), (two, _) = candidate(etcd, "one"), candidate(etcd, "two")
    one.attempt()
    assert etcd.lease is not None
    etcd.version += 1
    etcd.lease["metadata"]["resourceVersion"] = str(etcd.version)
    etcd.lease["spec"]["holderIdentity"] = "two"
    one.attempt()
    assert not leads(one)
    two.attempt()
    assert leads(two)
    one.attempt()
    assert (one.holds, one.holder) == (False, "two")
