"""The control experiment: how often kube-apiserver asks for one request of one user whose provider is ill."""

from __future__ import annotations

import os

import pytest

from tests.authn.naive import Naive

PATIENT = [(503, "1", 21, 55)] if os.environ.get("CI") else []
"""Takes the 30 seconds after which kube-apiserver gives up."""


@pytest.mark.parametrize(
    ("failure", "retry_after", "least", "most"),
    [(500, None, 5, 5), (429, None, 5, 5), (503, None, 1, 1), (503, "0", 11, 55), *PATIENT],
)
def test_naive_answers_are_multiplied(shipped, front, users, failure, retry_after, least, most, capsys):
    front.mode = 500
    naive = Naive(shipped.port, shipped.certificate, front.url, shipped.authority, failure, retry_after)
    with naive:
        assert users.who(f"naive-{failure}-{retry_after}", timeout=60.0) == 401
        calls = len(naive.calls)
    with capsys.disabled():
        print(f"\nnaive {failure}, Retry-After {retry_after}: {calls} webhook calls for one request")
    assert least <= calls <= most
    assert len(front.calls) == calls


def test_shipped_answer_is_not(webhook, front, users):
    webhook.start(front.url)
    front.mode, began = 500, len(front.calls)
    assert users.who("shipped") == 401
    assert webhook.decisions() == 1
    assert len(front.calls) - began == 1
