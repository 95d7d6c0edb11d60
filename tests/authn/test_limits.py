"""Token bucket and bulkhead."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from functions.authn.limits import Bulkhead, Rate, TokenBucket


def test_bucket_begins_full_and_refills_at_its_rate():
    bucket = TokenBucket(Rate(10.0, 20.0))
    assert sum(bucket.take(0.0) for _ in range(100)) == 20
    assert not bucket.has(0.05)
    assert sum(bucket.take(0.5) for _ in range(100)) == 5
    assert sum(bucket.take(1000.0) for _ in range(100)) == 20


def test_looking_takes_nothing():
    bucket = TokenBucket(Rate(1.0, 1.0))
    assert all(bucket.has(0.0) for _ in range(10))
    assert bucket.take(0.0)
    assert not bucket.has(0.0)


@given(st.lists(st.floats(-1, 5), max_size=60))
def test_bucket_never_gives_more_than_burst_and_rate(steps):
    bucket, now, newest, given_out = TokenBucket(Rate(3.0, 7.0)), 0.0, 0.0, 0
    assert bucket.has(now)
    for step in steps:
        now += step  # a clock that goes back gives nothing
        newest = max(newest, now)
        given_out += sum(bucket.take(now) for _ in range(5))
        assert given_out <= 7.0 + 3.0 * newest + 1e-6


def test_bulkhead_keeps_places_for_known_tokens():
    bulkhead = Bulkhead(4, strangers=2)
    for _ in range(2):
        assert bulkhead.has_room(stranger=True)
        bulkhead.enter(stranger=True)
    assert not bulkhead.has_room(stranger=True)
    for _ in range(2):
        assert bulkhead.has_room(stranger=False)
        bulkhead.enter(stranger=False)
    assert not bulkhead.has_room(stranger=False)
    bulkhead.leave(stranger=True)
    assert bulkhead.has_room(stranger=True)
