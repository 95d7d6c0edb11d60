"""The cache: what is served, for how long, and what is never served again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from functions.authn.cache import Cache, Spans, key
from functions.authn.verdict import Active, Identity, Inactive, Instant, Verdict

SPANS = Spans(good=60.0, bad=10.0, grace=600.0, known=3600.0, entries=4)
JANE = Active(Identity("idp:jane"), expires_at=5000.0)


def at(seconds):
    return Instant(steady=seconds, wall=1000.0 + seconds)


def test_good_verdict_is_fresh_for_a_minute_then_stale_for_the_grace_then_only_known():
    cache = Cache(SPANS)
    cache.put(b"k", JANE, at(0))
    assert cache.fresh(b"k", at(59.9)) is JANE
    assert cache.fresh(b"k", at(60)) is None
    assert cache.stale(b"k", at(599.9)) is JANE
    assert cache.stale(b"k", at(600)) is None
    assert cache.knows(b"k", at(3599.9))
    assert not cache.knows(b"k", at(3600))


def test_nothing_is_served_past_exp():
    cache = Cache(SPANS)
    cache.put(b"k", Active(Identity("idp:jane"), expires_at=1030.0), at(0))
    assert cache.fresh(b"k", at(29.9))
    assert cache.fresh(b"k", at(30)) is None
    assert cache.stale(b"k", at(30)) is None
    assert not cache.knows(b"k", at(30))


def test_wall_clock_set_forward_ends_a_token_at_once():
    cache = Cache(SPANS)
    cache.put(b"k", JANE, at(0))
    assert cache.stale(b"k", Instant(steady=1.0, wall=5000.0)) is None


def test_inactive_token_is_refused_for_ten_seconds_and_never_served_stale_again():
    cache = Cache(SPANS)
    cache.put(b"k", JANE, at(0))
    cache.put(b"k", Inactive(), at(61))
    assert cache.fresh(b"k", at(70.9)) == Inactive()
    assert cache.fresh(b"k", at(71)) is None
    assert cache.stale(b"k", at(61)) is None
    assert not cache.knows(b"k", at(61))


def test_token_that_is_active_again_is_served_again():
    cache = Cache(SPANS)
    cache.put(b"k", Inactive(), at(0))
    cache.put(b"k", JANE, at(1))
    assert cache.fresh(b"k", at(1)) is JANE


def test_no_grace_means_nothing_stale():
    cache = Cache(Spans(grace=0.0))
    cache.put(b"k", JANE, at(0))
    assert cache.fresh(b"k", at(1)) is JANE
    assert cache.stale(b"k", at(1)) is None


def test_flood_of_bad_tokens_pushes_no_good_one_out():
    cache = Cache(SPANS)
    cache.put(b"k", JANE, at(0))
    for number in range(1000):
        cache.put(b"%d" % number, Inactive(), at(1))
    assert cache.fresh(b"k", at(2)) is JANE
    assert len(cache) == 1 + SPANS.entries


def test_least_used_good_one_goes_first():
    cache = Cache(SPANS)
    for name in b"abcd":
        cache.put(bytes([name]), JANE, at(0))
    cache.fresh(b"a", at(1))
    cache.put(b"e", JANE, at(1))
    assert cache.fresh(b"b", at(1)) is None
    assert cache.fresh(b"a", at(1)) is JANE


def test_key_depends_on_secret_token_and_the_set_of_audiences():
    base = key(b"s", "token", ["a", "b"])
    assert base == key(b"s", "token", ["b", "a"])
    others = [key(b"t", "token", ["a", "b"]), key(b"s", "tokens", ["a", "b"]), key(b"s", "token", ["ab"])]
    assert len({base, *others}) == 4
    assert b"token" not in base


@given(
    st.text(max_size=3), st.lists(st.text(max_size=2), max_size=3), st.text(max_size=3), st.lists(st.text(max_size=2))
)
def test_two_requests_have_one_key_only_if_they_ask_the_same(token, audiences, other, others):
    same = token == other and sorted(audiences) == sorted(others)
    assert (key(b"s", token, audiences) == key(b"s", other, others)) == same


class Histories(RuleBasedStateMachine):
    """Any order of verdicts, waits and clock jumps, against what was last said about each token."""

    def __init__(self):
        super().__init__()
        self.now = at(0)
        self.cache = Cache(SPANS)
        self.last: dict[bytes, tuple[Verdict, float]] = {}

    @rule(steady=st.floats(0, 700), jump=st.floats(-50, 50))
    def wait(self, steady, jump):
        self.now = Instant(self.now.steady + steady, self.now.wall + steady + jump)

    @rule(name=st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"f"]), lives=st.none() | st.floats(-5, 900))
    def vouch(self, name, lives):
        verdict = Active(Identity("idp:x"), expires_at=None if lives is None else self.now.wall + lives)
        self.cache.put(name, verdict, self.now)
        self.last[name] = (verdict, self.now.steady)

    @rule(name=st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"f"]))
    def take_back(self, name):
        self.cache.put(name, Inactive(), self.now)
        self.last[name] = (Inactive(), self.now.steady)

    @invariant()
    def every_answer_is_the_last_word_and_in_time(self):
        for name, (verdict, when) in self.last.items():
            age = self.now.steady - when
            fresh, stale = self.cache.fresh(name, self.now), self.cache.stale(name, self.now)
            assert fresh in (None, verdict)
            if isinstance(verdict, Inactive):
                assert stale is None
                assert fresh is None or age < SPANS.bad
                continue
            over = verdict.expires_at is not None and self.now.wall >= verdict.expires_at
            assert stale in (None, verdict)
            assert fresh is None or (age < SPANS.good and not over)
            assert stale is None or (age < SPANS.grace and not over)
        assert len(self.cache) <= 2 * SPANS.entries


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
