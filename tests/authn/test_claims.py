"""From claims to a Kubernetes user."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.authn import claims
from functions.authn.audience import Audiences
from functions.authn.claims import ClaimMap
from functions.authn.verdict import Active, Identity, Inactive

PLAIN = ClaimMap(username_prefix="", groups_prefix="")


def identity(document, mapping=PLAIN):
    verdict = claims.user(document, mapping).verdict
    assert isinstance(verdict, Active)
    return verdict.identity


def test_names_get_their_prefixes_and_the_uid_none():
    found = identity({"sub": "jane", "groups": ["devs", "ops"]}, ClaimMap())
    assert found == Identity("idp:jane", "jane", ("idp:devs", "idp:ops"))


def test_claims_are_found_by_name_before_they_are_found_by_path():
    mapping = ClaimMap("ext.user", "", "https://example.com/groups", "", "id", {"example.com/team": "ext.team"})
    document = {"ext": {"user": "jane", "team": "blue"}, "https://example.com/groups": "devs", "id": "7"}
    assert identity(document, mapping) == Identity("jane", "7", ("devs",), (("example.com/team", ("blue",)),))
    assert identity({**document, "ext.user": "joan"}, mapping).username == "joan"


@pytest.mark.parametrize("name", [None, "", "  ", 7, ["jane"], {"a": "b"}, True, "x" * 2000, "a\nb", "a\x00b"])
def test_token_without_a_usable_name_is_refused(name):
    assert claims.user({"sub": name}, ClaimMap()).verdict == Inactive("no_username")


@pytest.mark.parametrize("prefix", ["", "idp:"])
def test_reserved_user_is_refused_and_reserved_groups_are_dropped_and_counted(prefix):
    mapping = ClaimMap(username_prefix=prefix, groups_prefix=prefix)
    assert claims.user({"sub": "system:admin"}, mapping).verdict == Inactive("reserved_username")
    mapped = claims.user({"sub": "jane", "groups": ["system:masters", "devs", "system:nodes"]}, mapping)
    assert isinstance(mapped.verdict, Active)
    assert mapped.verdict.identity.groups == (f"{prefix}devs",)
    assert mapped.dropped == 2


def test_prefix_and_name_together_cannot_spell_a_reserved_name():
    mapping = ClaimMap(username_prefix="sys", groups_prefix="sys")
    assert claims.user({"sub": "tem:admin"}, mapping).verdict == Inactive("reserved_username")
    assert identity({"sub": "jane", "groups": ["tem:masters"]}, mapping).groups == ()


def test_groups_that_are_no_names_are_dropped():
    assert identity({"sub": "j", "groups": ["a", 1, None, "", ["b"], "a"]}).groups == ("a",)
    assert identity({"sub": "j", "groups": {"a": "b"}}).groups == ()
    assert len(identity({"sub": "j", "groups": [str(n) for n in range(5000)]}).groups) == claims.MAX_GROUPS


@pytest.mark.parametrize(("exp", "moment"), [(12, 12.0), (1.5, 1.5), (None, None), (True, None), ("12", None)])
def test_exp_is_a_number_of_seconds(exp, moment):
    verdict = claims.user({"sub": "j", "exp": exp}, PLAIN).verdict
    assert isinstance(verdict, Active)
    assert verdict.expires_at == moment


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just("system:masters"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(st.fixed_dictionaries({}, optional={"sub": JSON, "groups": JSON, "aud": JSON, "exp": JSON, "ext": JSON}))
def test_no_claims_make_a_reserved_or_empty_name(document):
    mapping = ClaimMap(username_prefix="", groups_prefix="", extra={"example.com/x": "ext"})
    verdict = claims.user(document, mapping).verdict
    if isinstance(verdict, Active):
        names = [verdict.identity.username, *verdict.identity.groups]
        assert all(name.strip() and not name.startswith("system:") for name in names)


def active(*audiences):
    return Active(Identity("idp:j"), frozenset(audiences))


@pytest.mark.parametrize(
    ("token", "asked", "own", "required", "shared"),
    [
        (["a", "b"], ["b", "c"], [], True, ("b",)),
        (["a"], ["b"], [], True, None),
        (["a"], ["b"], ["a"], False, None),
        (["a"], [], ["a"], True, ("a",)),
        (["a"], [], ["b"], False, None),
        (["a"], [], [], False, ()),
        (["a"], [], [], True, None),
        ([], ["a"], ["a"], True, None),
        ([], ["a"], ["a"], False, ()),
    ],
)
def test_audiences_are_the_ones_that_both_sides_name(token, asked, own, required, shared):
    assert Audiences(tuple(own), required).shared(active(*token), asked) == shared
