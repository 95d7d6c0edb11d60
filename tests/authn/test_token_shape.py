"""Tokens that are refused without asking anybody."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.authn import token_shape

CLUSTER = "https://kubernetes.default.svc"
NOW = 1_700_000_000.0


def jwt(claims, text=None):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode() if text is None else text).decode().rstrip("=")

    return f"{part({'alg': 'RS256'})}.{part(claims)}.c2ln"


def why(token, longest=4096):
    refused = token_shape.refuse(token, {CLUSTER}, NOW, longest=longest)
    return refused and refused.why


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("ory_at_abc-_.~+/9==", None),
        ("a" * 4096, None),
        ("a" * 4097, "too_long"),
        ("two words", "not_a_token"),
        ("ünicode", "not_a_token"),
        ("a=b", "not_a_token"),
        ("line\n", "not_a_token"),
        (jwt({"iss": CLUSTER, "exp": NOW + 3600}), "cluster_token"),
        (jwt({"iss": CLUSTER, "exp": NOW - 3600}), "cluster_token"),
        (jwt({"iss": "https://idp.example.com", "exp": NOW + 1}), None),
        (jwt({"iss": "https://idp.example.com", "exp": NOW - 59}), None),
        (jwt({"iss": "https://idp.example.com", "exp": NOW - 61}), "expired"),
        (jwt({"exp": True}), "expired"),
        (jwt({"exp": "yesterday"}), None),
        (jwt({"iss": ["x"]}), None),
        (jwt([1]), None),
        (jwt(None, b"\xff"), None),
        ("a.b.c", None),
        ("....", None),
    ],
)
def test_shape_decides(token, reason):
    assert why(token) == reason


@given(
    st.text(max_size=40)
    | st.builds(jwt, st.dictionaries(st.sampled_from(["iss", "exp", "aud"]), st.floats() | st.text()))
)
def test_any_text_is_judged_without_an_exception(token):
    why(token)
