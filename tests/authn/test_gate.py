"""The gate: the order of its stages, and what holds whatever happens."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from functions.authn.breaker import Outcome, State
from functions.authn.gate import Answer, Follow, Gate, Lead, Limits, Source, outcome
from functions.authn.limits import Rate
from functions.authn.verdict import Active, Failure, Fault, Identity, Inactive, Instant

WIDE = Limits(known=Rate(1e6, 1e6), strangers=Rate(1e6, 1e6), calls=1000, stranger_calls=1000, waiters=1000)
JANE = Active(Identity("idp:jane"))
DOWN = Failure(Fault.UNREACHABLE)


def at(seconds):
    return Instant(seconds, 1000.0 + seconds)


def gate(limits=WIDE):
    """A gate whose breaker is closed."""
    made = Gate(limits, object, lambda: 0.0)
    for name in (b"warm-1", b"warm-2"):
        ask(made, name, Inactive(), 0.0)
    return made


def ask(made, name, result, now, seconds=0.01):
    entered = made.enter(name, at(now))
    if isinstance(entered, Lead):
        return made.leave(entered, result, seconds, at(now))
    return entered


def break_down(made, now):
    for number in range(5):
        ask(made, b"down-%d" % number, DOWN, now)
    assert made.state(at(now)) is State.OPEN


def test_second_use_is_answered_by_the_cache():
    made = gate()
    assert ask(made, b"k", JANE, 0) == Answer(JANE, Source.PROVIDER)
    assert made.enter(b"k", at(1)) == Answer(JANE, Source.CACHE)


def test_fifty_first_uses_share_one_call():
    made = gate()
    entered = [made.enter(b"k", at(0)) for _ in range(50)]
    leads = [each for each in entered if isinstance(each, Lead)]
    follows = [each for each in entered if isinstance(each, Follow)]
    assert (len(leads), len(follows)) == (1, 49)
    assert all(each.flight is leads[0].flight for each in follows)


def test_too_many_waiters_are_turned_away_without_a_verdict():
    made = gate(replace(WIDE, waiters=2))
    entered = [made.enter(b"k", at(0)) for _ in range(5)]
    assert entered[3:] == [Answer(Failure(Fault.CROWDED), Source.LOCAL)] * 2
    assert isinstance(entered[0], Lead)
    made.leave(entered[0], JANE, 0.1, at(0.1))
    assert made.enter(b"k", at(0.1)) == Answer(JANE, Source.CACHE)
    again = [made.enter(b"other", at(0.2)) for _ in range(3)]
    assert [type(each) for each in again] == [Lead, Follow, Follow]  # the places are free again


def test_known_token_is_served_stale_in_an_outage_and_an_unknown_one_refused_with_an_error():
    made = gate()
    ask(made, b"k", JANE, 0)
    break_down(made, 61)
    assert made.enter(b"k", at(61)) == Answer(JANE, Source.STALE, Fault.CIRCUIT_OPEN)
    assert made.enter(b"new", at(61)) == Answer(Failure(Fault.CIRCUIT_OPEN), Source.LOCAL)


def test_known_token_is_served_stale_from_the_very_first_failure():
    made = gate()
    ask(made, b"k", JANE, 0)
    assert ask(made, b"k", DOWN, 61) == Answer(JANE, Source.STALE, Fault.UNREACHABLE)


def test_token_called_inactive_is_never_served_stale():
    made = gate()
    ask(made, b"k", JANE, 0)
    ask(made, b"k", Inactive(), 61)
    break_down(made, 70)
    assert made.enter(b"k", at(70)) == Answer(Inactive(), Source.CACHE)
    assert made.enter(b"k", at(71)) == Answer(Failure(Fault.CIRCUIT_OPEN), Source.LOCAL)


def test_request_turned_away_by_the_breaker_uses_up_no_allowance():
    made = gate(replace(WIDE, strangers=Rate(0.001, 12.0)))
    break_down(made, 1)
    for number in range(1000):
        assert made.enter(b"%d" % number, at(2)) == Answer(Failure(Fault.CIRCUIT_OPEN), Source.LOCAL)
    assert isinstance(made.enter(b"k", at(7)), Lead)


def test_strangers_leave_the_allowance_of_known_tokens_alone():
    made = gate(Limits(known=Rate(50, 100), strangers=Rate(10, 20), calls=1000, stranger_calls=1000))
    ask(made, b"k", JANE, 0)
    flood = [ask(made, b"%d" % number, Inactive(), 100) for number in range(1000)]
    assert flood.count(Answer(Failure(Fault.RATE_LIMIT), Source.LOCAL)) == 980
    assert ask(made, b"k", JANE, 100) == Answer(JANE, Source.PROVIDER)


def test_strangers_leave_places_in_the_bulkhead():
    made = gate(replace(WIDE, calls=4, stranger_calls=2))
    ask(made, b"k", JANE, 0)
    entered = [made.enter(b"%d" % number, at(100)) for number in range(3)]
    assert entered[2] == Answer(Failure(Fault.BULKHEAD), Source.LOCAL)
    assert isinstance(made.enter(b"k", at(100)), Lead)


@pytest.mark.parametrize(
    ("result", "seconds", "expected"),
    [
        (JANE, 0.1, Outcome.GOOD),
        (Inactive(), 0.1, Outcome.GOOD),
        (JANE, 1.0, Outcome.SLOW),
        (Failure(Fault.CREDENTIAL), 0.1, Outcome.DECISIVE),
        (Failure(Fault.UNEXPECTED), 0.1, Outcome.NEUTRAL),
        *[
            (Failure(fault), 0.1, Outcome.FAILED)
            for fault in (Fault.TIMEOUT, Fault.UNREACHABLE, Fault.STATUS, Fault.THROTTLED, Fault.MALFORMED)
        ],
    ],
)
def test_infrastructure_alone_counts(result, seconds, expected):
    assert outcome(result, seconds, 1.0) is expected


class Histories(RuleBasedStateMachine):
    """Any interleaving of requests, results and waits."""

    names = st.sampled_from([b"a", b"b", b"c", b"d"])

    def __init__(self):
        super().__init__()
        self.now = at(0)
        self.limits = Limits(known=Rate(5, 5), strangers=Rate(2, 4), calls=3, stranger_calls=2, waiters=2)
        self.gate = Gate(self.limits, object, lambda: 0.0)
        self.leads: list[Lead[object]] = []
        self.vouched: dict[bytes, float] = {}

    @rule(seconds=st.floats(0, 100))
    def wait(self, seconds):
        self.now = Instant(self.now.steady + seconds, self.now.wall + seconds)

    @rule(name=names)
    def ask(self, name):
        entered = self.gate.enter(name, self.now)
        if isinstance(entered, Lead):
            assert name not in [lead.flight.name for lead in self.leads]
            self.leads.append(entered)
        elif isinstance(entered, Follow):
            assert entered.flight in [lead.flight for lead in self.leads]
        else:
            self.check(name, entered)

    @precondition(lambda self: self.leads)
    @rule(data=st.data(), result=st.sampled_from([JANE, Inactive(), DOWN, Failure(Fault.CREDENTIAL, 9.0)]))
    def land(self, data, result):
        lead = self.leads.pop(data.draw(st.integers(0, len(self.leads) - 1)))
        answer = self.gate.leave(lead, result, 0.1, self.now)
        name = lead.flight.name
        if result is JANE:
            self.vouched[name] = self.now.steady
        elif isinstance(result, Inactive):
            self.vouched.pop(name, None)
        self.check(name, answer)

    def check(self, name, answer):
        if isinstance(answer.result, Active):
            assert name in self.vouched
            age = self.now.steady - self.vouched[name]
            assert age < (self.limits.spans.grace if answer.source is Source.STALE else self.limits.spans.good)
            assert (answer.source is Source.STALE) == (answer.covers is not None)

    @invariant()
    def calls_stay_within_the_bulkhead_and_keys_apart(self):
        assert len(self.leads) <= self.limits.calls
        assert len(self.gate._flights) == len(self.leads)
        assert self.gate._bulkhead._inside == len(self.leads)
        if self.gate.state(self.now) is State.HALF_OPEN:
            generation = self.gate._breaker._generation
            assert sum(lead.permit.generation == generation for lead in self.leads) <= 1


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
