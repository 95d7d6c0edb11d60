"""Crowds of tokens, good and bad, and what a flood leaves behind."""

from __future__ import annotations

import os
import secrets
import threading
import time

from tests.authn.crowd import at_once

TOKENS = 10_000 if os.environ.get("CI") else 2_500


def test_fifty_first_uses_of_one_token_are_one_provider_call(webhook, front, hydra):
    webhook.start(front.url)
    token = hydra.token(hydra.client("fifty"))
    front.mode, began = 0.5, len(front.calls)
    seen = at_once(lambda _: webhook.review(token), range(50))
    assert [status["user"]["username"] for status in seen] == ["idp:fifty"] * 50
    assert len(front.calls) - began == 1


def test_flood_of_random_tokens_shuts_no_known_user_out(webhook, front, hydra, users):
    webhook.start(front.url, CACHE_SECONDS="1", STRANGER_RATE="2", STRANGER_BURST="30")
    known = [hydra.token(hydra.client(f"regular-{number}")) for number in range(20)]
    for token in known:
        assert isinstance(users.who(token), dict)
        time.sleep(0.05)
    over = threading.Event()

    def flood(number):
        """Ten of these are fifty times the strangers' limit, or ten times on a machine that has no time for more."""
        sent = 0
        while not over.is_set():
            webhook.review(secrets.token_urlsafe(32))
            sent += 1
            time.sleep(0.1)
        return sent

    floods = [threading.Thread(target=flood, args=(number,)) for number in range(10)]
    for each in floods:
        each.start()
    try:
        refused = [who for _ in range(8) for who in at_once(users.who, known, width=20) if not isinstance(who, dict)]
    finally:
        over.set()
        for each in floods:
            each.join()
    assert refused == []
    assert webhook.metrics()["webapp_authn_throttled_total/rate_limit"] > 0


def test_huge_token_costs_nobody_else_the_connection(webhook, front, hydra, users):
    webhook.start(front.url)
    token = hydra.token(hydra.client("neighbour"))
    for size in (60_000, 100_000, 900_000):
        assert users.who("x" * size) == 401
        assert webhook.post(b" " * size).status in {400, 413}
        assert webhook.review(token)["authenticated"]
    assert users.who(token)["username"] == "idp:neighbour"


def test_ten_thousand_random_tokens_leave_memory_bounded_and_known_users_alone(webhook, front, hydra, users, capsys):
    webhook.start(front.url, STRANGER_RATE="100000", STRANGER_BURST="100000", CACHE_ENTRIES="1000")
    token = hydra.token(hydra.client("patient"))
    assert users.who(token)["username"] == "idp:patient"
    at_once(webhook.review, [secrets.token_urlsafe(32) for _ in range(1000)], width=16)
    before = webhook.rss()
    at_once(webhook.review, [secrets.token_urlsafe(32) for _ in range(TOKENS)], width=16)
    after = webhook.rss()
    with capsys.disabled():
        print(f"\n{TOKENS} random tokens: RSS {before:.1f} MiB before, {after:.1f} MiB after")
    assert after - before < 8
    assert webhook.metrics()["webapp_authn_cached_verdicts"] <= 2000
    assert users.who(token)["username"] == "idp:patient"
