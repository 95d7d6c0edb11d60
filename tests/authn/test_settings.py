"""The environment: defaults that are the design's, and errors that say what would be right."""

from __future__ import annotations

import pytest

from functions.authn.__main__ import serving_profile
from functions.authn.settings import Settings
from functions.dev.certificates import CertificateAuthority
from functions.runtime.settings import SettingsError

LEAST = {
    "AUTHN_PROVIDER_URL": "https://idp.example.com/introspect",
    "AUTHN_CLIENT_AUTH": "none",
    "AUTHN_CALLER_TOKEN_FILE": "/etc/webapp/caller/token",
}


def test_defaults_are_those_of_the_documentation():
    limits = Settings.load(LEAST).limits
    rules, spans = limits.rules, limits.spans
    assert (rules.window, rules.calls, rules.share, rules.run) == (20, 10, 0.5, 5)
    assert (rules.open_first, rules.open_longest, rules.jitter, rules.probes) == (5, 60, 0.2, 2)
    assert (spans.good, spans.bad, spans.grace, spans.known) == (60, 10, 600, 3600)
    assert (limits.calls, limits.known.each_second, limits.strangers.each_second) == (16, 50, 10)
    assert Settings.load(LEAST).audience_required


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"AUTHN_PROVIDER_URL": ""}, "AUTHN_PROVIDER_URL is not set"),
        ({"AUTHN_PROVIDER_URL": "http://idp.example.com/"}, "http is for loopback"),
        ({"AUTHN_PROVIDER_URL": "https://me:pw@idp.example.com/"}, "must hold neither user"),
        ({"AUTHN_PROVIDER": "ldap"}, "must be introspection or keystone"),
        ({"AUTHN_PROVIDER_CA_FILE": "/nowhere"}, "AUTHN_PROVIDER_CA_FILE='/nowhere'"),
        ({"AUTHN_CLIENT_AUTH": ""}, "AUTHN_CLIENT_ID is not set"),
        ({"AUTHN_CLIENT_AUTH": "", "AUTHN_CLIENT_ID": "x"}, "AUTHN_CLIENT_SECRET_FILE is not set"),
        ({"AUTHN_CLIENT_AUTH": "private_key_jwt", "AUTHN_CLIENT_ID": "x"}, "AUTHN_CLIENT_KEY_FILE is not set"),
        ({"AUTHN_PROVIDER": "keystone", "AUTHN_CLIENT_ID": "x"}, "AUTHN_CLIENT_SECRET_FILE is not set"),
        ({"AUTHN_CALLER_TOKEN_FILE": ""}, "nobody may call"),
        ({"AUTHN_CALLER_NAMES": "kube-apiserver"}, "needs TLS_CLIENT_CA_FILE"),
        ({"AUTHN_USERNAME_PREFIX": "system:"}, "must not begin with system:"),
        ({"AUTHN_EXTRA_CLAIMS": "Client=client_id"}, "must be pairs such as"),
        ({"AUTHN_EXTRA_CLAIMS": "client_id"}, "must be pairs such as"),
        ({"AUTHN_KNOWN_RATE": "fast"}, "must be a number from"),
        ({"AUTHN_GRACE_SECONDS": "601"}, "must be a number of seconds from 0 to 600"),
    ],
)
def test_what_cannot_be_meant_is_told_with_its_cure(changes, told):
    with pytest.raises(SettingsError) as caught:
        Settings.load({**LEAST, **changes})
    assert told in str(caught.value)


def test_prefixes_can_be_switched_off_and_claims_renamed():
    changes = {
        "AUTHN_USERNAME_PREFIX": "-",
        "AUTHN_USERNAME_CLAIM": "ext.name",
        "AUTHN_EXTRA_CLAIMS": "example.com/a=b",
    }
    mapping = Settings.load({**LEAST, **changes}).mapping
    assert (mapping.username, mapping.username_prefix, mapping.groups_prefix) == ("ext.name", "", "idp:")
    assert mapping.extra == {"example.com/a": "b"}


def test_keystone_tokens_have_no_audience_to_require():
    keystone = {"AUTHN_PROVIDER": "keystone", "AUTHN_CLIENT_ID": "x", "AUTHN_CLIENT_SECRET_FILE": "/x"}
    assert not Settings.load({**LEAST, **keystone}).audience_required


def test_threads_suffice_for_everybody_who_may_wait(tmp_path):
    pair = CertificateAuthority(tmp_path, "ca").issue("authn", hosts=["localhost"])
    tls = {"TLS_CERT_FILE": str(pair.certificate), "TLS_KEY_FILE": str(pair.key)}
    settings = Settings.load(LEAST)
    assert serving_profile({**LEAST, **tls}, settings).threads == 88
    with pytest.raises(SettingsError, match="SERVER_THREADS=16: must be at least 88"):
        serving_profile({**LEAST, **tls, "SERVER_THREADS": "16"}, settings)
