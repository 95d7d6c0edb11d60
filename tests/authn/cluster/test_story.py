"""Two hundred users, or fewer on a laptop, live through an outage of their provider."""

from __future__ import annotations

import os

from tests.authn.story import Shape, naive, report, shipped, tell

CI = bool(os.environ.get("CI"))
SHAPE = Shape(known=150, newcomers=20, before=20.0, outage=60.0, after=70.0) if CI else Shape.short()


def test_known_users_notice_nothing_and_the_provider_is_left_alone(capsys):
    told = tell(shipped, SHAPE)
    with capsys.disabled():
        print(f"\n{report('shipped', told)}")
    assert told.known_served == 1.0
    assert told.last_refusal(known=True) == 0.0
    assert told.calls_in_outage < 60
    newcomers = [each for each in told.requests if each.user >= SHAPE.known]
    assert not any(each.served for each in newcomers if each.at + each.seconds < told.resumed)
    last = {each.user: each.served for each in sorted(newcomers, key=lambda each: each.at)}
    assert all(last.values())  # all of them are in by the end


if CI:  # the control experiment takes another minute

    def test_naive_webhook_refuses_everybody_and_calls_on(capsys):
        told = tell(naive, Shape(known=50, newcomers=10, before=8.0, outage=35.0, after=10.0))
        with capsys.disabled():
            print(f"\n{report('naive', told)}")
        assert told.known_served < 0.5
        assert told.calls_in_outage > 100
