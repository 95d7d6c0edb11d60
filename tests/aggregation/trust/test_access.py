"""kube-apiserver decides what users may do: asked once in ten seconds, and without it nobody may."""

import json
import re
import time

import pytest

from functions.aggregation.authorization import KEPT_SECONDS
from functions.dev.cluster import KubectlError
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.aggregation.trust.rig import ACCOUNT, ME, user_kubeconfig
from tests.cluster.admin import until

ELSEWHERE = ME.replace("team-a", "team-b")
DENIED = (
    r'whoamis.whoami.example.com "me" is forbidden: User "{}" cannot get resource "whoamis" in API group '
    r'"whoami.example.com" in the namespace "team-b"'
)


@pytest.fixture(scope="module")
def front_proxy(plane, tmp_path_factory):
    return plane.authorities.front_proxy.issue("front-proxy-client", folder=tmp_path_factory.mktemp("front-proxy"))


@pytest.fixture(scope="module", autouse=True)
def limited(plane, server):
    """`limited` (a user, a group and a ServiceAccount of team-a) may get in team-a alone."""
    plane.kubectl("-n", "team-a", "create", "serviceaccount", "limited")
    subjects = ("--user=limited", "--group=limited", "--serviceaccount=team-a:limited")
    plane.kubectl("-n", "team-a", "create", "rolebinding", "limited", "--clusterrole=whoami-reader", *subjects)


def reviews(plane, since):
    """The SubjectAccessReviews of our server since a mark."""
    found = plane.audit(ACCOUNT, since)
    return len([each for each in found if each.get("objectRef", {}).get("resource") == "subjectaccessreviews"])


def test_user_of_one_namespace_is_refused_elsewhere_under_impersonation(plane):
    for flags in (["--as=limited"], ["--as=somebody", "--as-group=limited"]):
        assert json.loads(plane.kubectl("get", "--raw", ME, *flags))["status"]["name"] == flags[0].removeprefix("--as=")
        with pytest.raises(KubectlError, match="Forbidden"):
            plane.kubectl("get", "--raw", ELSEWHERE, *flags)


def test_user_of_one_namespace_is_refused_elsewhere_with_a_certificate(plane):
    limited = user_kubeconfig(plane, "limited")
    assert json.loads(plane.kubectl("get", "--raw", ME, kubeconfig=limited))["status"]["name"] == "limited"
    with pytest.raises(KubectlError, match=DENIED.format("limited")):
        plane.kubectl("get", "whoamis", "me", "-n", "team-b", kubeconfig=limited)


def test_service_account_of_one_namespace_is_refused_elsewhere(plane):
    limited = plane.service_account_kubeconfig("team-a", "limited")
    status = json.loads(plane.kubectl("get", "--raw", ME, kubeconfig=limited))["status"]
    assert status["name"] == "system:serviceaccount:team-a:limited"
    assert {"system:serviceaccounts", "system:serviceaccounts:team-a", "system:authenticated"} == set(status["groups"])
    assert status["uid"]
    assert "authentication.kubernetes.io/credential-id" in status["extra"]
    with pytest.raises(KubectlError, match=DENIED.format("system:serviceaccount:team-a:limited")):
        plane.kubectl("get", "whoamis", "me", "-n", "team-b", kubeconfig=limited)


def test_refusal_is_ours_too_where_kube_apiserver_let_a_request_through(server, front_proxy):
    status, body = server.direct([("X-Remote-User", "limited")], front_proxy, ELSEWHERE)
    assert (status, body["reason"]) == (403, "Forbidden")
    assert re.match(DENIED.format("limited"), body["message"])
    assert server.direct([("X-Remote-User", "limited")], front_proxy, ME)[0] == 200


def test_review_is_made_once_for_all_requests_of_ten_seconds(plane, server, front_proxy):
    mark = plane.mark()
    asker = [("X-Remote-User", "counted"), ("X-Remote-Group", "limited")]
    began = time.monotonic()
    answers = [server.direct(asker, front_proxy, path)[0] for path in [ME, ELSEWHERE] * 20]
    elapsed = time.monotonic() - began
    assert answers == [200, 403] * 20
    assert 2 <= reviews(plane, mark) <= 2 * (1 + elapsed // KEPT_SECONDS)
    masters = [("X-Remote-User", "root"), ("X-Remote-Group", "system:masters")]
    mark = plane.mark()
    assert server.direct(masters, front_proxy)[0] == 200
    assert server.direct([("X-Remote-User", "other")], front_proxy, "/apis/whoami.example.com/v1")[0] == 200
    assert reviews(plane, mark) == 0


def test_server_asks_for_nothing_but_its_terms_and_reviews(plane, server):
    found = plane.audit(ACCOUNT)
    assert [each for each in found if each["responseStatus"]["code"] >= 400] == []
    asked = {(each["objectRef"]["resource"], each["objectRef"].get("namespace"), each["verb"]) for each in found}
    assert asked == {
        ("configmaps", "kube-system", "get"),
        ("configmaps", "kube-system", "watch"),
        ("subjectaccessreviews", None, "create"),
    }


def test_without_kube_apiserver_nobody_may_and_everybody_may_again_afterwards(plane, server, front_proxy):
    limited, root = [("X-Remote-User", "unheard"), ("X-Remote-Group", "limited")], [("X-Remote-User", "root")]
    plane.stop_apiserver()
    try:
        status, body = server.direct(limited, front_proxy)
        assert (status, body["reason"], body["kind"]) == (503, "ServiceUnavailable", "Status")
        assert server.direct([*root, ("X-Remote-Group", "system:masters")], front_proxy)[0] == 200
        assert server.direct(root, front_proxy, "/apis/whoami.example.com/v1")[0] == 200
    finally:
        plane.start_apiserver()
    until(lambda: server.direct(limited, front_proxy)[0] == 200)


def test_right_that_is_taken_away_ends_within_ten_seconds(plane, server, front_proxy):
    plane.kubectl("-n", "team-b", "create", "rolebinding", "soon", "--clusterrole=whoami-reader", "--user=soon")
    asker = [("X-Remote-User", "soon")]
    until(lambda: server.direct(asker, front_proxy, ELSEWHERE)[0] == 200)
    plane.kubectl("-n", "team-b", "delete", "rolebinding", "soon")
    until(lambda: server.direct(asker, front_proxy, ELSEWHERE)[0] == 403, KEPT_SECONDS + 10)


def test_server_without_the_right_to_ask_fails_closed(plane, server, front_proxy):
    plane.kubectl("delete", "clusterrolebinding", "whoami")
    asker = [("X-Remote-User", "never-seen"), ("X-Remote-Group", "limited")]
    try:
        until(lambda: server.direct(asker, front_proxy)[0] == 503, KEPT_SECONDS + 10)
    finally:
        account = f"--serviceaccount={SYSTEM_NAMESPACE}:whoami"
        plane.kubectl("create", "clusterrolebinding", "whoami", "--clusterrole=system:auth-delegator", account)
    until(lambda: server.direct(asker, front_proxy)[0] == 200)
