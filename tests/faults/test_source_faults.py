"""The five faults in which Knative's ApiServerSource loses changes, with our bridge: it loses none."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.bench.faults import Campaign, Fault, table
from tests.bench.rig import Rig
from tests.bench.sink import Sink
from tests.bench.sources import BRIDGE

ROUNDS = 3 if os.environ.get("CI") else 1
OBJECTS = 60
OUTAGE_SECONDS = 3.0


@pytest.fixture(scope="module")
def campaign() -> Iterator[Campaign]:
    with Rig() as rig, Sink() as sink:
        found = Campaign(rig, sink, BRIDGE, OBJECTS, patience_seconds=40.0)
        found.begin()
        yield found


@pytest.mark.parametrize("fault", table(OUTAGE_SECONDS), ids=lambda fault: fault.name)
@pytest.mark.parametrize("turn", range(ROUNDS))
def test_no_change_is_lost_when(campaign: Campaign, fault: Fault, turn: int) -> None:
    cell = campaign.suffer(fault)
    assert cell.changes == 50
    assert cell.lost == 0


def test_a_hanging_webapp_delays_no_other(campaign: Campaign) -> None:
    """Other WebApps' events arrive while the first one's request is held open."""
    campaign.alive()
    with campaign.sink.holding(0):
        start = len(campaign.sink.posts())
        campaign.change(0)
        changes = [campaign.change(number) for number in range(1, 50)]
        assert campaign.arrivals(changes, start).count(None) == 0
        held = [post for post in campaign.sink.posts(start) if post.name == "app-00000"]
        assert held == []


def test_steady_changes_arrive_one_event_each(campaign: Campaign) -> None:
    rate = campaign.steady(per_second=100, seconds=2)
    assert rate.lost == 0
    assert rate.posts <= rate.changes + 1  # two changes to one WebApp may become one event, none becomes two
