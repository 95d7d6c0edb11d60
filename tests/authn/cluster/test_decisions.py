"""What the webhook tells a real API server about the tokens of a real provider."""

from __future__ import annotations

import json
import time

import jwt
import pytest
import urllib3

from functions.dev.cluster import KubectlError
from tests.authn.conftest import control_plane
from tests.authn.hydra import API_AUDIENCES
from tests.authn.webhook import Users

EXTRA = "example.com/client=client_id"


@pytest.fixture
def jane(hydra):
    return hydra.token(hydra.client(f"jane-{time.time_ns()}", groups=["devs", "system:masters"]))


def whoami(kubectl, token):
    return json.loads(kubectl(token, "auth", "whoami", "-o", "json"))["status"]["userInfo"]


def test_valid_token_is_its_user_with_groups_uid_and_extra(webhook, front, hydra, as_user):
    name = hydra.client("joan", groups=["devs", "ops"])
    webhook.start(front.url, EXTRA_CLAIMS=EXTRA)
    found = whoami(as_user, hydra.token(name))
    assert found["username"] == "idp:joan"
    assert found["uid"] == "joan"
    assert found["groups"] == ["idp:devs", "idp:ops", "system:authenticated"]
    assert found["extra"] == {"example.com/client": ["joan"]}


def test_v1beta1_is_answered_in_v1beta1(webhook, front, hydra):
    webhook.start(front.url)
    token = hydra.token(hydra.client("june", groups=["devs"]))
    with control_plane(webhook, "v1beta1") as cluster:
        found = Users(cluster).who(token)
    assert found["username"] == "idp:june"
    assert found["groups"] == ["idp:devs", "system:authenticated"]


def test_bad_token_is_refused_and_its_second_use_makes_no_webhook_call(webhook, front, users):
    webhook.start(front.url)
    assert users.who("no-such-token") == 401
    before = webhook.decisions()
    assert users.who("no-such-token") == 401
    assert webhook.decisions() == before == 1


def test_expired_service_account_token_reaches_no_provider(webhook, front, users, plane):
    """Signed by the cluster's own key, so that its end is all that is wrong with it; the webhook is asked last."""
    webhook.start(front.url)
    now, key = int(time.time()), (plane.folder / "service-account.key").read_bytes()
    account = {"namespace": "default", "serviceaccount": {"name": "late", "uid": "u"}}
    claims = {
        "iss": "https://kubernetes.default.svc",
        "aud": list(API_AUDIENCES),
        "sub": "system:serviceaccount:default:late",
        "iat": now - 7200,
        "exp": now - 3600,
        "kubernetes.io": account,
    }
    for number in range(5):
        assert users.who(jwt.encode(claims | {"jti": str(number)}, key, "ES256")) == 401
    assert webhook.metrics()["webapp_authn_decisions_total/refused/local"] == 5
    assert len(front.calls) == 2  # the start's own


def test_only_the_api_server_may_ask(webhook, front, hydra, tmp_path):
    (tmp_path / "caller").write_text("caller-token")
    webhook.start(front.url, CALLER_TOKEN_FILE=tmp_path / "caller")
    body = json.dumps(
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": hydra.token(hydra.client("asked")), "audiences": list(API_AUDIENCES)},
        }
    )
    stranger = webhook.authority.issue("kubelet")
    ca = str(webhook.authority.certificate)
    nobody = urllib3.PoolManager(ca_certs=ca, retries=False)
    other = urllib3.PoolManager(
        ca_certs=ca, cert_file=str(stranger.certificate), key_file=str(stranger.key), retries=False
    )
    assert [each.request("POST", webhook.url, body=body).status for each in (nobody, other)] == [401, 401]
    for token, status in (("caller-token", 200), ("caller-tokem", 401)):
        assert (
            nobody.request("POST", webhook.url, body=body, headers={"authorization": f"Bearer {token}"}).status
            == status
        )
    assert webhook.post(body.encode()).json()["status"]["authenticated"]


def test_reserved_group_gives_no_power(webhook, front, jane, as_user):
    webhook.start(front.url, GROUPS_PREFIX="-")
    assert whoami(as_user, jane)["groups"] == ["devs", "system:authenticated"]
    with pytest.raises(KubectlError, match="no"):
        as_user(jane, "auth", "can-i", "*", "*")
    assert webhook.metrics()["webapp_authn_dropped_groups_total"] >= 1


@pytest.mark.parametrize("audience", ["elsewhere", ""])
def test_token_for_somebody_else_or_for_nobody_is_refused(webhook, front, hydra, users, audience):
    webhook.start(front.url)
    name = hydra.client(f"jim-{audience or 'none'}")
    assert users.who(hydra.token(name, audience)) == 401
    assert users.who(hydra.token(name))["username"] == f"idp:{name}"


def test_revoked_token_is_refused_once_the_caches_are_through(webhook, front, hydra, users):
    webhook.start(front.url, CACHE_SECONDS="1")
    name = hydra.client("jack")
    token = hydra.token(name)
    assert users.who(token)["username"] == "idp:jack"
    hydra.revoke(name, token)
    deadline = time.monotonic() + 20
    while users.who(token) != 401:  # two seconds of the API server's cache, ten of its outer one, one of ours
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_certificate_admin_needs_no_webhook(shipped, plane):
    assert "system:masters" in plane.kubectl("auth", "whoami")
