"""Nobody but kube-apiserver names users, and a user is whom it names."""

import json
import ssl

import pytest

from functions.dev.certificates import CertificateAuthority
from functions.dev.cluster import KubectlError
from tests.aggregation.trust.rig import ME, user_kubeconfig

ROOT = [("X-Remote-User", "root"), ("X-Remote-Group", "system:masters")]


@pytest.fixture(scope="module")
def front_proxy(plane, tmp_path_factory):
    """A certificate like kube-apiserver's own."""
    return plane.authorities.front_proxy.issue("front-proxy-client", folder=tmp_path_factory.mktemp("front-proxy"))


def who(plane, *flags, kubeconfig=None):
    return json.loads(plane.kubectl("get", "--raw", ME, *flags, kubeconfig=kubeconfig))["status"]


def test_caller_without_a_certificate_is_nobody_whatever_it_says(server):
    status, body = server.direct(ROOT)
    assert (status, body["kind"], body["reason"]) == (401, "Status", "Unauthorized")


def test_certificate_of_a_user_of_the_cluster_proves_nothing(server, plane):
    assert server.direct(ROOT, plane.authorities.users.issue("mallory", ["system:masters"]))[0] == 401


def test_allowed_name_on_a_certificate_of_the_users_authority_proves_nothing(server, plane, tmp_path):
    assert server.direct(ROOT, plane.authorities.users.issue("front-proxy-client", folder=tmp_path))[0] == 401


def test_name_that_is_not_allowed_proves_nothing(server, plane):
    assert server.direct(ROOT, plane.authorities.front_proxy.issue("somebody-else"))[0] == 401


def test_certificate_of_nobodys_authority_never_gets_through_the_handshake(server, tmp_path):
    with pytest.raises((ssl.SSLError, OSError)):
        server.direct(ROOT, CertificateAuthority(tmp_path, "front-proxy-ca").issue("front-proxy-client"))


def test_discovery_is_for_those_who_are_somebody_alone(server, front_proxy):
    path = "/apis/whoami.example.com/v1"
    assert server.direct(ROOT, path=path)[0] == 401
    assert server.direct([("X-Remote-User", "system:aggregator")], front_proxy, path=path)[0] == 200


def test_front_proxy_that_names_nobody_is_refused(server, front_proxy):
    assert server.direct(certificate=front_proxy)[0] == 401
    assert server.direct([("X-Remote-User", " "), ("X-Remote-Group", "system:masters")], front_proxy)[0] == 401


def test_user_arrives_as_kube_apiserver_knows_it(server, front_proxy):
    headers = [
        ("X-Remote-User", "j\u00fcrgen, the first".encode()),
        ("X-Remote-User", "ignored"),
        ("X-Remote-Group", "system:masters"),
        ("X-Remote-Group", "one,two"),
        ("X-Remote-Group", ""),
        ("x-remote-extra-Example.com%2fTeam", "a,b"),
        ("X-Remote-Extra-Example.com%2Fteam", "c"),
        ("X-Remote-Extra-under_score", "d"),
        ("X-Remote-Extra-bad%zz", "e"),
        ("X-Remote-Uid", "42"),
    ]
    _, body = server.direct(headers, front_proxy)
    assert body["status"] == {
        "name": "j\u00fcrgen, the first",
        "groups": ["system:masters", "one,two", "system:authenticated"],
        "uid": "42",
        "extra": {"example.com/team": ["a,b", "c"], "under_score": ["d"], "bad%zz": ["e"]},
    }


def test_field_of_another_spelling_is_not_the_same_field(server, front_proxy):
    headers = [("X-Remote-User", "jane"), ("X_Remote_Group", "system:masters"), ("X-Remote_Group", "system:masters")]
    status, body = server.direct(headers, front_proxy)
    assert (status, body["reason"]) == (403, "Forbidden")


def test_fields_that_gunicorn_obeys_change_no_path(server, front_proxy):
    root = [*ROOT, ("SCRIPT_NAME", "/apis"), ("PATH_INFO", "/healthz")]
    assert server.direct(root, front_proxy)[1]["metadata"]["name"] == "me"


def test_name_of_the_kept_fields_cannot_be_sent(server, front_proxy):
    forged = json.dumps([["X-REMOTE-USER", "root"], ["X-REMOTE-GROUP", "system:masters"]])
    with server.connect(front_proxy) as connection:
        lines = ["GET / HTTP/1.1", "host: x", "x-remote-user: jane", f"FIELDS AS THEY CAME: {forged}", "", ""]
        connection.sendall("\r\n".join(lines).encode())
        assert connection.recv(12) == b"HTTP/1.1 400"
    for name in ("FIELDS-AS-THEY-CAME", "FIELDS_AS_THEY_CAME"):
        assert server.direct([("X-Remote-User", "jane"), (name, forged)], front_proxy)[0] == 403


def test_user_of_a_thousand_groups_is_answered(server, front_proxy):
    groups = [("X-Remote-Group", f"group-{number}") for number in range(1000)]
    headers = [("X-Remote-User", "jane"), *groups, ("X-Remote-Group", "system:masters")]
    status, body = server.direct(headers, front_proxy)
    assert (status, len(body["status"]["groups"])) == (200, 1002)


def test_headers_of_a_client_do_not_pass_through_kube_apiserver(server, plane):
    mallory = user_kubeconfig(plane, "mallory-2")
    with pytest.raises(KubectlError, match='User "mallory-2" cannot get resource "whoamis"'):
        who(plane, kubeconfig=mallory)


def test_impersonation_is_respected_with_groups_and_uid(server, plane):
    flags = ("--as=jane", "--as-group=system:masters", "--as-group=a,b", "--as-uid=7")
    found = who(plane, *flags)
    assert (found["name"], found["uid"]) == ("jane", "7")
    assert set(found["groups"]) == {"system:masters", "a,b", "system:authenticated"}


def test_group_whose_name_has_a_comma_gains_nothing(server, plane, front_proxy):
    for groups in (["a,system:masters"], ["a", "system:masters,b"], ["a, system:masters ,b", "c"]):
        headers = [("X-Remote-User", "jane"), *(("X-Remote-Group", group) for group in groups)]
        assert server.direct(headers, front_proxy)[0] == 403
        with pytest.raises(KubectlError, match="Forbidden"):
            who(plane, "--as=jane", *(f"--as-group={group}" for group in groups))


def test_group_whose_name_has_a_comma_has_the_rights_of_that_name(server, plane):
    group = "a,system:masters"
    plane.kubectl("-n", "team-a", "create", "rolebinding", "comma", "--clusterrole=whoami-reader", f"--group={group}")
    jane = user_kubeconfig(plane, "jane", [group])
    assert who(plane, kubeconfig=jane)["groups"] == [group, "system:authenticated"]
    with pytest.raises(KubectlError, match='in the namespace "team-b"'):
        plane.kubectl("get", "--raw", ME.replace("team-a", "team-b"), kubeconfig=jane)
