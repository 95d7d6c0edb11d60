"""Where the API server is found, and as whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from functions.dev import kubeconfig
from functions.runtime.credentials import CredentialsError, load


@pytest.fixture
def account(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "ca.crt").write_text("ca")
    return tmp_path


def in_cluster(folder: Path, host: str = "10.0.0.1", **more: str) -> dict[str, str]:
    return {"KUBERNETES_SERVICE_HOST": host, "WEBAPP_SERVICEACCOUNT_DIR": str(folder), **more}


def test_a_pod_speaks_as_its_service_account(account):
    found = load(in_cluster(account))
    assert (found.server, found.authorization()) == ("https://10.0.0.1:443", "Bearer first")
    assert found.tls == {"cert_reqs": "CERT_REQUIRED", "ca_certs": str(account / "ca.crt")}


def test_an_ipv6_address_is_put_in_brackets(account):
    environ = in_cluster(account, host="fd00::1", KUBERNETES_SERVICE_PORT="6443")
    assert load(environ).server == "https://[fd00::1]:6443"


def test_a_pod_without_a_token_says_what_to_do(tmp_path):
    with pytest.raises(CredentialsError, match="mount the ServiceAccount token, or set WEBAPP_SERVICEACCOUNT_DIR"):
        load(in_cluster(tmp_path))


def test_a_kubeconfig_wins_over_the_pod(account, tmp_path):
    path = kubeconfig.write(tmp_path / "kc", {"server": "https://127.0.0.1:1"}, {"token": "t"}, "someone")
    found = load(in_cluster(account, KUBECONFIG=str(path)))
    assert (found.server, found.authorization()) == ("https://127.0.0.1:1", "Bearer t")
    assert found.tls["cert_reqs"] == "CERT_REQUIRED"


def test_a_kubeconfig_may_switch_verification_off(tmp_path):
    cluster = {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True}
    path = kubeconfig.write(tmp_path / "kc", cluster, {"token": "t"}, "someone")
    assert load({"KUBECONFIG": str(path)}).tls["cert_reqs"] == "CERT_NONE"


def test_plain_http_needs_no_tls(tmp_path):
    path = kubeconfig.write(tmp_path / "kc", {"server": "http://127.0.0.1:1"}, {"token": "t"}, "someone")
    assert load({"KUBECONFIG": str(path)}).tls == {}


@pytest.mark.parametrize("text", ["", "{}", "{", "[]", "clusters: 5"])
def test_a_kubeconfig_that_is_none_is_named(tmp_path, text):
    path = tmp_path / "broken"
    path.write_text(text)
    with pytest.raises(CredentialsError, match=f"{path}.*set KUBECONFIG"):
        load({"KUBECONFIG": str(path)})


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CredentialsError, match="nowhere"):
        load({"KUBECONFIG": str(tmp_path / "nowhere")})


def test_a_context_that_is_not_there_is_named(tmp_path):
    path = kubeconfig.write(tmp_path / "kc", {"server": "https://127.0.0.1:1"}, {"token": "t"}, "someone")
    with pytest.raises(CredentialsError, match="elsewhere"):
        load({"KUBECONFIG": str(path)}, context="elsewhere")
