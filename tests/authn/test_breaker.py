"""The breaker: each rule by itself, then all of them against invariants under arbitrary histories."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from functions.authn.breaker import Breaker, Outcome, Permit, Rules, State

RULES = Rules()


def breaker(random=0.0, rules=RULES):
    return Breaker(rules, lambda: random)


def call(machine, outcome, now, retry_after=None):
    permit = machine.admit(now)
    assert permit is not None
    machine.report(permit, outcome, now, retry_after)


def closed(random=0.0, rules=RULES):
    machine = breaker(random, rules)
    for _ in range(rules.probes):
        call(machine, Outcome.GOOD, 0.0)
    assert machine.state(0.0) is State.CLOSED
    return machine


def opened(times=1):
    """A breaker that opened `times` times in a row, the last time at the moment that is returned."""
    machine, now = closed(), 0.0
    call(machine, Outcome.DECISIVE, now)
    for _ in range(times - 1):
        while not machine.permits(now):
            now += 0.25
        call(machine, Outcome.FAILED, now)
    return machine, now


def test_starts_half_open_and_closes_after_two_good_probes():
    machine = breaker()
    assert machine.state(0.0) is State.HALF_OPEN
    call(machine, Outcome.GOOD, 0.0)
    assert machine.state(0.0) is State.HALF_OPEN
    call(machine, Outcome.GOOD, 0.0)
    assert machine.state(0.0) is State.CLOSED


def test_first_call_after_start_that_fails_opens():
    machine = breaker()
    call(machine, Outcome.FAILED, 0.0)
    assert machine.state(0.0) is State.OPEN


def test_five_failures_in_a_row_open_and_four_do_not():
    machine = closed()
    for _ in range(4):
        call(machine, Outcome.FAILED, 1.0)
    assert machine.state(1.0) is State.CLOSED
    call(machine, Outcome.FAILED, 1.0)
    assert machine.state(1.0) is State.OPEN


def test_good_call_breaks_a_run_of_failures():
    machine = closed()
    for outcome in [*[Outcome.FAILED] * 4, Outcome.GOOD, *[Outcome.FAILED] * 4]:
        call(machine, outcome, 1.0)
    assert machine.state(1.0) is State.CLOSED


@pytest.mark.parametrize("bad", [Outcome.FAILED, Outcome.SLOW])
def test_half_of_ten_calls_bad_opens(bad):
    machine = closed()
    for number in range(10):
        assert machine.state(1.0) is State.CLOSED
        call(machine, bad if number % 2 else Outcome.GOOD, 1.0)
    assert machine.state(1.0) is State.OPEN


def test_slow_calls_are_no_run_of_failures():
    machine = closed()
    for _ in range(9):
        call(machine, Outcome.SLOW, 1.0)
    assert machine.state(1.0) is State.CLOSED


def test_calls_older_than_the_window_do_not_count():
    machine = closed()
    for _ in range(9):
        call(machine, Outcome.SLOW, 0.0)
    call(machine, Outcome.SLOW, RULES.window)
    assert machine.state(RULES.window) is State.CLOSED


def test_complaint_about_one_request_counts_for_nothing():
    machine = closed()
    for _ in range(50):
        call(machine, Outcome.NEUTRAL, 1.0)
    assert machine.state(1.0) is State.CLOSED


def test_refused_credential_opens_at_once():
    machine = closed()
    call(machine, Outcome.DECISIVE, 1.0)
    assert machine.state(1.0) is State.OPEN


@pytest.mark.parametrize(("times", "span"), [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (9, 60)])
def test_open_time_doubles_up_to_a_minute(times, span):
    machine, now = opened(times)
    assert machine.state(now + span - 0.01) is State.OPEN
    assert machine.state(now + span) is State.HALF_OPEN


@pytest.mark.parametrize(("random", "span"), [(-1.0, 4.0), (1.0, 6.0)])
def test_open_time_is_spread_by_a_fifth(random, span):
    machine = closed(random)
    call(machine, Outcome.DECISIVE, 0.0)
    assert machine.state(span - 0.01) is State.OPEN
    assert machine.state(span) is State.HALF_OPEN


def test_closing_resets_the_open_time():
    machine, now = opened(4)
    now += 40
    call(machine, Outcome.GOOD, now)
    call(machine, Outcome.GOOD, now)
    call(machine, Outcome.DECISIVE, now)
    assert machine.state(now + 5) is State.HALF_OPEN


def test_retry_after_is_the_least_open_time():
    machine = closed()
    call(machine, Outcome.FAILED, 0.0, retry_after=30.0)
    for _ in range(4):
        call(machine, Outcome.FAILED, 0.0)
    assert machine.state(29.9) is State.OPEN
    assert machine.state(30.0) is State.HALF_OPEN


def test_retry_after_of_a_late_answer_prolongs_the_opening():
    machine = closed()
    late = machine.admit(0.0)
    assert late
    call(machine, Outcome.DECISIVE, 0.0)
    machine.report(late, Outcome.FAILED, 1.0, retry_after=20.0)
    assert machine.state(20.9) is State.OPEN
    assert machine.state(21.0) is State.HALF_OPEN


@pytest.mark.parametrize(("asked", "until"), [(1e9, 300.0), (-5.0, 5.0)])
def test_absurd_retry_after_is_bounded(asked, until):
    machine = closed()
    call(machine, Outcome.DECISIVE, 0.0, retry_after=asked)
    assert machine.state(until - 0.01) is State.OPEN
    assert machine.state(until) is State.HALF_OPEN


def test_half_open_lets_one_call_through_and_tells_the_rest_at_once():
    machine, now = opened()
    now += 5
    admitted = [machine.admit(now) for _ in range(50)]
    assert sum(permit is not None for permit in admitted) == 1


def test_probe_without_a_verdict_frees_the_place_for_another():
    machine, now = opened()
    call(machine, Outcome.NEUTRAL, now + 5)
    assert machine.state(now + 5) is State.HALF_OPEN
    assert machine.permits(now + 5)


def test_slow_probe_opens_again():
    machine, now = opened()
    call(machine, Outcome.SLOW, now + 5)
    assert machine.state(now + 5) is State.OPEN


def test_result_of_an_earlier_state_counts_for_nothing():
    machine = closed()
    late = [machine.admit(0.0), machine.admit(0.0)]
    call(machine, Outcome.DECISIVE, 0.0)
    assert late[0]
    machine.report(late[0], Outcome.GOOD, 0.0)
    assert machine.state(4.9) is State.OPEN
    probe = machine.admit(5.0)
    assert late[1]
    machine.report(late[1], Outcome.FAILED, 5.0)
    assert machine.state(5.0) is State.HALF_OPEN
    assert not machine.permits(5.0)
    assert probe


class Histories(RuleBasedStateMachine):
    """Any order of calls, answers and waits."""

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.jitter = 0.0
        self.machine = Breaker(RULES, lambda: self.jitter)
        self.out: list[Permit] = []
        self.good_probes = 0
        self.opened_at: float | None = None
        self.wish = 0.0

    @rule(seconds=st.floats(0, 70))
    def wait(self, seconds):
        self.now += seconds

    @rule(jitter=st.floats(-1, 1))
    def another_jitter(self, jitter):
        self.jitter = jitter

    @rule()
    def ask(self):
        before = self.machine.state(self.now)
        permit = self.machine.admit(self.now)
        if before is State.OPEN:
            assert permit is None
        elif before is State.CLOSED:
            assert permit is not None
        if permit:
            self.out.append(permit)

    @precondition(lambda self: self.out)
    @rule(data=st.data(), outcome=st.sampled_from(Outcome), wish=st.none() | st.floats(0, 400))
    def answer(self, data, outcome, wish):
        permit = self.out.pop(data.draw(st.integers(0, len(self.out) - 1)))
        before = self.machine.state(self.now)
        current = permit.generation == self.machine._generation
        self.machine.report(permit, outcome, self.now, wish)
        after = self.machine.state(self.now)
        if wish is not None:
            self.wish = max(self.wish, self.now + min(wish, RULES.retry_after_longest))
        if not current:
            assert after is before
        if before is State.HALF_OPEN and current:
            self.good_probes += outcome is Outcome.GOOD
            bad = outcome in {Outcome.SLOW, Outcome.FAILED, Outcome.DECISIVE}
            assert (after is State.OPEN) == bad
            assert (after is State.CLOSED) == (self.good_probes == RULES.probes)
        if before is State.CLOSED and outcome is Outcome.NEUTRAL:
            assert after is State.CLOSED
        if after is not before:
            self.good_probes = 0
            self.opened_at = self.now if after is State.OPEN else None

    @invariant()
    def opening_lasts_as_long_as_it_must(self):
        if self.opened_at is None:
            return
        lasted = self.now - self.opened_at
        if self.machine.state(self.now) is State.OPEN:
            assert self.now < max(self.opened_at + 60 * 1.2, self.wish)
        else:
            assert lasted >= 5 * 0.8
            assert self.now >= self.wish
            self.opened_at = None

    @invariant()
    def at_most_one_probe_is_out(self):
        if self.machine.state(self.now) is State.HALF_OPEN:
            current = [permit for permit in self.out if permit.generation == self.machine._generation]
            assert len(current) <= 1
            assert self.machine.permits(self.now) == (not current)


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
