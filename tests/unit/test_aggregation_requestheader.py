"""How the ConfigMap says whom to trust, and what is read of a request under its terms."""

import json

import pytest

from functions.aggregation.requestheader import RequestHeader, RequestHeaderError
from functions.dev.certificates import CertificateAuthority


@pytest.fixture(scope="module")
def authorities(tmp_path_factory):
    """PEM by name."""
    folder = tmp_path_factory.mktemp("authorities")
    names = ("front", "users", "other")
    return {name: CertificateAuthority(folder, name).certificate.read_text() for name in names}


@pytest.fixture
def data(authorities):
    return {
        "client-ca-file": authorities["users"],
        "requestheader-client-ca-file": authorities["front"],
        "requestheader-allowed-names": '["front-proxy-client"]',
        "requestheader-username-headers": '["X-Remote-User", "X-Other-User"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
    }


def terms(data):
    return RequestHeader.of({"data": data})


def test_names_come_from_the_config_map(data):
    data["requestheader-username-headers"] = '["X-My-User"]'
    data["requestheader-extra-headers-prefix"] = '["X-My-"]'
    found = terms(data).user([("X-REMOTE-USER", "root"), ("X-MY-USER", "jane"), ("X-MY-TEAM", "a")])
    assert (found.name, found.groups) == ("jane", ("system:authenticated",))
    assert found.extra["team"] == ("a",)


@pytest.mark.parametrize(
    ("key", "flag"),
    [
        ("requestheader-client-ca-file", "--requestheader-client-ca-file"),
        ("requestheader-username-headers", "--requestheader-username-headers"),
        ("requestheader-group-headers", "--requestheader-group-headers"),
        ("requestheader-extra-headers-prefix", "--requestheader-extra-headers-prefix"),
    ],
)
def test_flag_that_is_missing_is_named(data, key, flag):
    for nothing in (None, "", "[]" if "headers" in key else " "):
        with pytest.raises(RequestHeaderError, match=f"extension-apiserver-authentication.*{flag}"):
            terms({**data, key: nothing})


def test_config_map_of_a_cluster_without_front_proxy_is_refused_with_all_flags(authorities):
    with pytest.raises(RequestHeaderError) as told:
        terms({"client-ca-file": authorities["users"]})
    assert str(told.value).count("--requestheader-") == 4
    with pytest.raises(RequestHeaderError):
        RequestHeader.of({})


@pytest.mark.parametrize("wrong", ["{}", "front-proxy-client", '"a"', "[1]", "["])
def test_value_of_another_shape_is_named(data, wrong):
    with pytest.raises(RequestHeaderError, match="requestheader-allowed-names"):
        terms({**data, "requestheader-allowed-names": wrong})


@pytest.mark.parametrize("key", ["requestheader-client-ca-file", "client-ca-file"])
def test_bundle_that_is_none_is_named(data, key):
    with pytest.raises(RequestHeaderError, match=key):
        terms({**data, key: "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----"})


def test_every_holder_of_a_certificate_must_not_become_the_front_proxy(data, authorities):
    shared = {**data, "client-ca-file": authorities["other"] + authorities["front"]}
    assert terms(shared).allowed == {"front-proxy-client"}
    for nobody in ("[]", "", "null"):
        with pytest.raises(RequestHeaderError, match="requestheader-allowed-names is empty"):
            terms({**shared, "requestheader-allowed-names": nobody})
        assert terms({**data, "requestheader-allowed-names": nobody}).allowed == frozenset()


def test_same_terms_in_another_spelling_are_equal(data):
    other = {**data, "requestheader-client-ca-file": f"# Ünsere\n{data['requestheader-client-ca-file']}\n\n"}
    assert terms(other) == terms(data)


def test_first_name_that_is_given_counts(data):
    found = terms(data)
    assert found.user([("X-OTHER-USER", "b"), ("X-REMOTE-USER", "a")]).name == "a"
    assert found.user([("X-OTHER-USER", "b"), ("X-REMOTE-USER", " ")]).name == "b"
    assert found.user([("X-REMOTE-GROUP", "system:masters")]) is None


@pytest.mark.parametrize(
    ("name", "groups", "added"),
    [
        ("jane", ["a"], True),
        ("jane", ["system:authenticated"], False),
        ("jane", ["system:unauthenticated"], False),
        ("system:anonymous", ["system:unauthenticated"], False),
        ("system:anonymous", [], False),
    ],
)
def test_whoever_was_authenticated_is_in_that_group(data, name, groups, added):
    found = terms(data).user([("X-REMOTE-USER", name), *(("X-REMOTE-GROUP", group) for group in groups)])
    assert found.groups == (*groups, *(["system:authenticated"] if added else []))


@pytest.mark.parametrize(
    ("field", "key"),
    [
        ("X-REMOTE-EXTRA-SCOPES", "scopes"),
        ("X-REMOTE-EXTRA-EXAMPLE.COM%2FTEAM", "example.com/team"),
        ("X-REMOTE-EXTRA-%D0%BA", "к"),
        ("X-REMOTE-EXTRA-100%", "100%"),
        ("X-REMOTE-EXTRA-%ZZ%41", "%zz%41"),
        ("X-REMOTE-EXTRA-A_B", "a_b"),
        ("X-REMOTE-EXTRA-", ""),
    ],
)
def test_keys_of_extras_are_decoded_as_kubernetes_does(data, field, key):
    fields = [("X-REMOTE-USER", "jane"), (field, "a,b"), (field, "c")]
    assert terms(data).user(fields).extra == {key: ("a,b", "c")}


def test_names_are_read_as_utf_8(data):
    raw = json.loads(json.dumps("Jürgen".encode().decode("latin-1")))
    assert terms(data).user([("X-REMOTE-USER", raw)]).name == "Jürgen"
    assert terms(data).user([("X-REMOTE-USER", "\xff")]).name == "\ufffd"
