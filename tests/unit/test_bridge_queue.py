"""Who is sent next, and what a notice says when it stands for several changes."""

from __future__ import annotations

import pytest

from event_bridge.answer import Answer, Verdict
from event_bridge.backlog import MAX_DIRT, Delivery
from event_bridge.queue import BACKOFF, PATIENCE_SECONDS, Queue
from functions.webapp.contract import Cause, Change
from tests.bridge_parts import BUSY, NOBODY, OK, announcement, change, ok


@pytest.fixture
def queue() -> Queue:
    return Queue(slow_limit=1)


def taken(queue: Queue, now: float = 0.0) -> Delivery:
    delivery = queue.take(now)
    assert delivery is not None
    return delivery


def test_latest_change_wins_and_the_others_are_counted(queue: Queue) -> None:
    for version in range(1, 101):
        queue.offer(change(version=version))
    notice = taken(queue).notice
    assert (notice.object.resource_version, notice.coalesced) == ("100", 100)
    assert queue.take(0) is None


def test_hundred_changes_in_flight_make_exactly_one_more_notice(queue: Queue) -> None:
    queue.offer(change(version=1))
    delivery = taken(queue)
    for version in range(2, 102):
        queue.offer(change(version=version))
    assert queue.take(0) is None
    queue.done(delivery, 1.0, OK)
    again = taken(queue, 1.0)
    assert (again.notice.object.resource_version, again.notice.coalesced) == ("101", 100)
    queue.done(again, 2.0, OK)
    assert queue.take(2.0) is None
    assert len(queue) == 0


def test_a_change_of_the_webapp_outranks_a_later_one_of_a_child(queue: Queue) -> None:
    queue.offer(change(version=1))
    queue.offer(change(version=2, child=True))
    assert taken(queue).notice.object.resource_version == "1"


def test_the_end_of_the_webapp_outranks_everything_of_it(queue: Queue) -> None:
    queue.offer(change(version=1, what=Change.DELETED))
    queue.offer(change(version=2, child=True, what=Change.DELETED))
    assert taken(queue).notice.change is Change.DELETED


def test_a_webapp_made_again_under_its_name_is_what_is_announced(queue: Queue) -> None:
    queue.offer(change(version=1, what=Change.DELETED))
    queue.offer(change(version=2, what=Change.ADDED, incarnation=2))
    notice = taken(queue).notice
    assert (notice.webapp.uid, notice.change) == ("a-2", Change.ADDED)


def test_exact_echoes_that_came_in_flight_need_no_notice(queue: Queue) -> None:
    queue.offer(change(version=1))
    delivery = taken(queue)
    queue.offer(change(version=2, child=True))
    queue.offer(change(version=3, child=True))
    queue.done(delivery, 1.0, ok(("a-1-deployment", "2"), ("a-1-deployment", "3")))
    assert queue.take(5.0) is None
    assert len(queue) == 0


@pytest.mark.parametrize("foreign", [2, 4])
def test_a_foreign_change_beside_an_echo_passes_whether_older_or_newer(queue: Queue, foreign: int) -> None:
    queue.offer(change(version=1))
    delivery = taken(queue)
    for version in sorted([3, foreign]):
        queue.offer(change(version=version, child=True))
    queue.done(delivery, 1.0, ok(("a-1-deployment", "3")))
    assert taken(queue, 1.0).notice.object.resource_version == str(foreign)


def test_an_echo_that_comes_after_the_answer_is_told_once(queue: Queue) -> None:
    queue.offer(change(version=1))
    write = ("a-1-deployment", "2")
    queue.done(taken(queue), 1.0, ok(write), unseen={write})
    assert queue.saw("team/a", write, 1.1)
    assert len(queue) == 0
    assert not queue.saw("team/a", write, 1.2)


def test_a_newer_version_than_the_expected_echo_is_no_echo(queue: Queue) -> None:
    queue.offer(change(version=1))
    write = ("a-1-deployment", "2")
    queue.done(taken(queue), 1.0, ok(write), unseen={write})
    assert not queue.saw("team/a", ("a-1-deployment", "3"), 1.1)
    assert not queue.saw("team/a", write, 1.2), "its newer version was seen: a late copy is no echo"


def test_an_older_version_than_the_expected_echo_passes_and_the_echo_is_still_expected(queue: Queue) -> None:
    queue.offer(change(version=1))
    write = ("a-1-deployment", "20")
    queue.done(taken(queue), 1.0, ok(write), unseen={write})
    assert not queue.saw("team/a", ("a-1-deployment", "9"), 1.1)
    assert queue.saw("team/a", write, 1.2)


def test_expected_echoes_are_forgotten_after_a_minute(queue: Queue) -> None:
    queue.offer(change(version=1))
    write = ("a-1-deployment", "2")
    queue.done(taken(queue), 1.0, ok(write), unseen={write})
    queue.take(61.5)
    assert len(queue) == 0


def test_the_next_send_rests_until_the_watch_shows_our_writes(queue: Queue) -> None:
    queue.offer(change(version=1))
    delivery, write = taken(queue), ("a-1-deployment", "3")
    queue.offer(change(version=2))
    queue.done(delivery, 1.0, ok(write), unseen={write})
    assert queue.take(1.5) is None
    assert queue.opens_at() == 2.0
    assert queue.saw("team/a", write, 1.6)
    assert taken(queue, 1.6).notice.object.resource_version == "2"


def test_the_rest_ends_after_a_second_even_if_nothing_is_shown(queue: Queue) -> None:
    queue.offer(change(version=1))
    delivery, write = taken(queue), ("a-1-deployment", "3")
    queue.offer(change(version=2))
    queue.done(delivery, 1.0, ok(write), unseen={write})
    taken(queue, 2.0)


def test_more_changes_than_are_told_apart_still_make_a_notice(queue: Queue) -> None:
    queue.offer(change(version=1))
    delivery = taken(queue)
    versions = range(2, MAX_DIRT + 4)
    for version in versions:
        queue.offer(change(version=version, child=True))
    queue.done(delivery, 1.0, ok(*(("a-1-deployment", str(version)) for version in versions)))
    taken(queue, 1.0)


def test_backoff_doubles_with_full_jitter_up_to_a_minute(queue: Queue) -> None:
    queue.offer(change())
    now, waits = 0.0, []
    for _ in range(12):
        queue.failed(taken(queue, now), now, BUSY, random=0.5)
        opens_at = queue.opens_at()
        assert opens_at is not None
        assert queue.take(opens_at - 0.001) is None
        waits.append(round(opens_at - now, 6))
        now = opens_at
    assert waits[:4] == [0.1, 0.2, 0.4, 0.8]
    assert waits[-1] == BACKOFF.longest / 2


def test_retry_after_is_a_minimum(queue: Queue) -> None:
    queue.offer(change())
    queue.failed(taken(queue), 0.0, Answer(Verdict.AGAIN, 503, retry_after=7.0), random=0.99)
    queue.offer(change(version=2, at=1.0))
    assert queue.take(6.9) is None
    taken(queue, 7.0)


def test_a_change_of_the_webapp_itself_overtakes_the_backoff_of_its_older_state(queue: Queue) -> None:
    queue.offer(change(version=1))
    for _ in range(6):
        queue.failed(taken(queue, queue.opens_at() or 0.0), 0.0, BUSY, random=0.9)
    queue.offer(change(version=2, at=0.1, child=True))
    assert queue.take(0.1) is None
    queue.offer(change(version=3, at=0.2))
    assert taken(queue, 0.2).notice.object.resource_version == "3"


def test_changes_go_before_syncs_but_syncs_are_not_starved(queue: Queue) -> None:
    queue.offer(announcement("old", at=0.0))
    for number in range(30):
        queue.offer(change(f"new{number}", at=float(number)))
    order = []
    for number in range(31):
        delivery = taken(queue, 100.0 + number)
        order.append(delivery.notice.webapp.name)
        queue.done(delivery, 100.0 + number, OK)
    assert order.index("old") == int(PATIENCE_SECONDS) + 1


def test_only_so_many_syncs_are_in_flight_as_are_allowed(queue: Queue) -> None:
    for name in "abc":
        queue.offer(announcement(name))
    first = taken(queue)
    assert queue.take(0) is None
    queue.offer(change("d"))
    assert taken(queue).notice.webapp.name == "d"
    queue.done(first, 1.0, OK)
    taken(queue, 1.0)


def test_a_change_makes_a_waiting_sync_urgent(queue: Queue) -> None:
    for name in "ab":
        queue.offer(announcement(name))
    queue.offer(change("b", version=2))
    notice = taken(queue).notice
    assert (notice.webapp.name, notice.cause, notice.coalesced) == ("b", Cause.WATCH, 1)


def test_a_blocked_webapp_is_tried_again_when_the_answer_asked_for_it(queue: Queue) -> None:
    queue.offer(change(version=1))
    again = announcement(version=1, at=61.0, cause=Cause.REQUEUE)
    queue.done(taken(queue), 1.0, OK, again=again)
    assert queue.take(60.9) is None
    assert queue.opens_at() == 61.0
    assert taken(queue, 61.0).notice.cause is Cause.REQUEUE


def test_a_change_overtakes_the_timer_and_there_is_one_notice_only(queue: Queue) -> None:
    queue.offer(change(version=1))
    queue.done(taken(queue), 1.0, OK, again=announcement(version=1, at=61.0, cause=Cause.REQUEUE))
    queue.offer(change(version=2, at=2.0))
    delivery = taken(queue, 2.0)
    assert (delivery.notice.cause, delivery.since) == (Cause.WATCH, 2.0)
    queue.done(delivery, 2.0, OK)
    assert queue.opens_at() is None


def test_poison_waits_for_the_next_change(queue: Queue) -> None:
    queue.offer(change(version=1))
    queue.park(taken(queue), 0.0)
    assert (queue.parked(), queue.opens_at()) == (["team/a"], None)
    queue.offer(change(version=2, at=1.0))
    assert queue.parked() == []
    assert taken(queue, 1.0).notice.object.resource_version == "2"


def test_poison_is_sent_again_when_told(queue: Queue) -> None:
    for name in "ab":
        queue.offer(change(name))
        queue.park(taken(queue), 0.0)
    assert queue.resend("team/b", 1.0) == 1
    assert taken(queue, 1.0).notice.webapp.name == "b"
    assert queue.resend("", 1.0) == 1
    assert queue.resend("", 1.0) == 0


def test_three_webapps_that_nobody_answers_mean_that_the_sink_is_down(queue: Queue) -> None:
    for name in "abcde":
        queue.offer(change(name))
    flights = [taken(queue) for _ in range(3)]
    for flight in flights:
        queue.failed(flight, 0.0, NOBODY, random=0.5)
    assert queue.outage.down
    opens_at = queue.opens_at()
    assert opens_at is not None
    assert queue.take(opens_at - 0.01) is None
    probe = taken(queue, opens_at)
    assert queue.take(opens_at) is None, "one probe at a time"
    queue.done(probe, opens_at, OK)
    assert sum(queue.take(opens_at) is not None for _ in range(5)) == 4
    assert queue.in_flight == 4, "those that failed do not sit out their backoff"


def test_one_webapp_that_fails_again_and_again_is_no_outage(queue: Queue) -> None:
    queue.offer(change("a"))
    for _ in range(5):
        queue.failed(taken(queue, queue.opens_at() or 0.0), 0.0, NOBODY, random=0.1)
    assert not queue.outage.down


def test_a_probe_that_hangs_lets_another_one_go_after_a_while(queue: Queue) -> None:
    for name in "abcd":
        queue.offer(change(name))
    for flight in [taken(queue) for _ in range(3)]:
        queue.failed(flight, 0.0, NOBODY, random=0.0)
    assert taken(queue, 1.0).probe
    assert queue.take(10.9) is None
    assert taken(queue, 11.0).probe


def test_who_leads_no_longer_forgets_what_waits_and_lets_land_what_flies(queue: Queue) -> None:
    queue.offer(change("a"))
    queue.offer(change("b"))
    flight = taken(queue)
    queue.clear()
    assert queue.take(0) is None
    queue.failed(flight, 1.0, BUSY, random=0.5)
    assert (len(queue), queue.in_flight) == (0, 0)


def test_one_in_flight_per_webapp_holds_across_a_change_of_the_leader(queue: Queue) -> None:
    queue.offer(change("a", version=1))
    flight = taken(queue)
    queue.clear()
    queue.offer(announcement("a", version=1, at=1.0))
    assert queue.take(1.0) is None
    queue.done(flight, 2.0, OK)
    taken(queue, 2.0)
