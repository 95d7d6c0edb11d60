"""Sender authentication: the function with the real tokens and keys of a control plane."""

import json
import time

import jwt
import pytest
import urllib3
from cryptography.hazmat.primitives.asymmetric import ec

from functions.dev import manifests
from functions.dev.operator import Operator, await_ready
from functions.dev.processes import ProcessGroup
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.history import runs

AUDIENCE = "webapp-reconciler"
RECORDER = "webapp-history-recorder"
BRIDGE = "system:serviceaccount:webapp-system:webapp-bridge"
EVENT = json.dumps(
    {
        "specversion": "1.0",
        "id": "1",
        "type": "com.example.platform.webapp.modified.v1",
        "source": "//platform.example.com/clusters/tests/platform.example.com/webapps",
        "data": {"webapp": {"namespace": "default", "name": "nobody"}},
    }
)


@pytest.fixture(scope="module")
def processes():
    with ProcessGroup() as group:
        yield group


@pytest.fixture(scope="module")
def guarded(cluster, processes):
    """A function that only the bridge may send to."""
    settings = {"SENDER_AUDIENCE": AUDIENCE, "SENDER_SUBJECTS": BRIDGE}
    return Operator(cluster, processes).start_function(settings)


def post(url, token=None, body=EVENT, **headers):
    told = {"content-type": "application/cloudevents+json", **headers}
    if token:
        told["authorization"] = f"Bearer {token}"
    return urllib3.request("POST", url, body=body, headers=told, retries=False, timeout=30)


def token(cluster, account, audience=AUDIENCE):
    flags = ("--audience", audience) if audience else ()
    return cluster.kubectl("create", "token", account, "-n", "webapp-system", *flags).strip()


def forged(cluster, key=None, **claims):
    """A token of the bridge, signed with the cluster's own key or another, with other claims."""
    real = token(cluster, "webapp-bridge")
    told = {**jwt.decode(real, options={"verify_signature": False}), **claims}
    signing = key or (cluster.folder / "service-account.key").read_text()
    return jwt.encode(told, signing, "ES256", headers={"kid": jwt.get_unverified_header(real)["kid"]})


def test_bridge_may_send(cluster, guarded):
    assert post(guarded, token(cluster, "webapp-bridge")).status == 204


def test_somebody_else_of_this_cluster_may_not(cluster, guarded):
    answer = post(guarded, token(cluster, "webapp-reconciler"))
    assert answer.status == 403
    assert answer.json()["title"] == "sender_not_allowed"


def test_token_for_another_audience_proves_nothing(cluster, guarded):
    answer = post(guarded, token(cluster, "webapp-bridge", audience=None))
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_no_token_is_no_sender(guarded):
    assert post(guarded).status == 401


def test_token_signed_by_the_cluster_with_the_right_claims_is_the_measure(cluster, guarded):
    assert post(guarded, forged(cluster)).status == 204


@pytest.mark.parametrize(
    "claims",
    [{"exp": int(time.time()) - 60}, {"iss": "https://elsewhere.example.com"}, {"aud": ["other"]}],
    ids=["expired", "other issuer", "other audience"],
)
def test_claim_that_does_not_hold_is_refused_even_with_the_right_key(cluster, guarded, claims):
    assert post(guarded, forged(cluster, **claims)).status == 401


def test_made_up_keys_do_not_make_the_function_ask_the_api_server(cluster, guarded, audit):
    assert post(guarded, token(cluster, "webapp-bridge")).status == 204
    own = ec.generate_private_key(ec.SECP256R1())
    mark = cluster.mark()
    for kid in range(20):
        answer = post(guarded, jwt.encode({"sub": BRIDGE}, own, "ES256", headers={"kid": str(kid)}))
        assert answer.status == 401
    asked = [each["requestURI"] for each in audit("webapp-reconciler", mark)]
    assert len([uri for uri in asked if "openid" in uri]) <= 2


@pytest.fixture(scope="module")
def guarded_recorder(cluster, processes):
    """A recorder as the component oidc-history runs it."""
    cluster.apply(manifests.history_roles())
    settings = {
        "SENDER_AUDIENCE": RECORDER,
        "SENDER_SUBJECTS": BRIDGE,
        "KUBECONFIG": str(cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, RECORDER)),
    }
    url = Operator(cluster, processes).start_recorder(f"sqlite:///{processes.folder / 'history.db'}", settings)
    await_ready(processes["recorder"], f"{url}health/readiness")
    return url


def test_only_the_bridge_writes_history(cluster, guarded_recorder):
    headers, body = runs.request(1)
    tokens = [
        None,
        token(cluster, "webapp-bridge", RECORDER),
        token(cluster, "webapp-bridge"),
        token(cluster, "webapp-reconciler", RECORDER),
    ]
    found = [post(guarded_recorder, each, body, **headers).status for each in tokens]
    assert found == [401, 204, 401, 403]


def test_health_and_abuse_protection_ask_for_no_token(guarded):
    assert urllib3.request("GET", f"{guarded}health/readiness").status == 200
    assert urllib3.request("OPTIONS", guarded, headers={"webhook-request-origin": "me"}).status == 200
