"""The front proxy's authority is replaced while requests run: the new one counts at once, the old one no more."""

import hashlib
import json
import shutil
import ssl
import sys
from functools import partial

import pytest
import urllib3

from functions.aggregation.requestheader import NAME, NAMESPACE
from functions.dev.certificates import CertificateAuthority
from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.aggregation.trust.intermediate import chain
from tests.aggregation.trust.rig import CONFIG_MAP, ME, Server, ask
from tests.cluster.admin import Admin, until
from tests.meanwhile import Meanwhile

ROOT = [("X-Remote-User", "root"), ("X-Remote-Group", "system:masters")]


@pytest.fixture(scope="module")
def rotating():
    """A control plane of its own: nothing trusts its first authority afterwards."""
    with ControlPlane() as plane:
        for name in (SYSTEM_NAMESPACE, "team-a"):
            plane.kubectl("create", "namespace", name)
        yield plane


@pytest.fixture(scope="module")
def group():
    with ProcessGroup() as processes:
        yield processes


@pytest.fixture(scope="module")
def server(rotating, group):
    found = Server(rotating, group)
    found.start()
    found.ready().register()
    return found


class Load(Meanwhile):
    """Requests through kube-apiserver without a pause, on connections that stay open."""

    def __init__(self, plane):
        self.failures, self.answered, self.caller = [], 0, ""
        folder = plane.folder
        self._http = urllib3.PoolManager(
            ca_certs=str(folder / "ca.crt"), cert_file=str(folder / "admin.crt"), key_file=str(folder / "admin.key")
        )
        self._url = plane.server + ME

    def __exit__(self, *_):
        super().__exit__()
        self._http.clear()

    def again(self):
        answer = self._http.request("GET", self._url, retries=False)
        self.answered += 1
        if answer.status == 200:
            self.caller = json.loads(answer.data)["metadata"]["annotations"]["caller"]
        else:
            self.failures.append((answer.status, answer.data))

    def go_on(self):
        seen = self.answered
        until(lambda: self.answered > seen + 20)


def authorities(admin):
    """How many the cluster names now."""
    return admin.get(CONFIG_MAP, NAMESPACE, NAME)["data"]["requestheader-client-ca-file"].count("BEGIN CERTIFICATE")


def fingerprint(pair):
    """Of a certificate, as `whoami` tells its caller's."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pair.certificate.read_text())).hexdigest()


def replace(path, text):
    fresh = path.with_suffix(".fresh")
    fresh.write_text(text)
    fresh.replace(path)


def test_authority_is_replaced_without_a_failed_request_and_the_old_one_is_refused(rotating, server, tmp_path):
    admin, folder = Admin(rotating.kubeconfig), rotating.folder
    old, new = rotating.authorities.front_proxy, CertificateAuthority(tmp_path, "front-proxy-ca-2")
    bundle, first, second = old.certificate, old.certificate.read_text(), new.certificate.read_text()
    pair = old.issue("front-proxy-client", folder=tmp_path)
    with server.connect(pair) as kept, Load(rotating) as load:
        assert ask(kept, ROOT)[0] == 200
        load.go_on()
        replace(bundle, first + second)
        until(lambda: authorities(admin) == 2, 90)
        fresh = tmp_path / "fresh"
        fresh.mkdir()
        issued = new.issue("front-proxy-client", folder=fresh)
        until(lambda: server.direct(ROOT, issued)[0] == 200)
        assert ask(kept, ROOT)[0] == 200
        assert server.direct(ROOT, pair)[0] == 200
        shutil.copyfile(issued.key, folder / "front-proxy-client.key")
        shutil.copyfile(issued.certificate, folder / "front-proxy-client.crt")
        until(lambda: server.process.log.read_text().count("new terms") == 1)
        load.go_on()
        until(lambda: load.caller == fingerprint(issued))
        replace(bundle, second)
        admin.merge(CONFIG_MAP, NAMESPACE, NAME, {"data": {"requestheader-client-ca-file": second}})
        until(lambda: ask(kept, ROOT)[0] == 401)
        with pytest.raises(OSError, match=r"(?i)alert|reset|pipe|EOF"):
            server.direct(ROOT, pair)
        assert server.direct(ROOT, issued)[0] == 200
        load.go_on()
    assert load.failures == []


def test_intermediates_are_followed_where_python_tells_of_them_and_may_always_stand_in_the_bundle(
    rotating, server, tmp_path
):
    admin = Admin(rotating.kubeconfig)
    root, middle, pair = chain(tmp_path, "front-proxy-client")
    before = admin.get(CONFIG_MAP, NAMESPACE, NAME)["data"]["requestheader-client-ca-file"]
    for bundle, status in ((root, 200 if sys.version_info >= (3, 13) else 401), (middle, 200), ("", None)):
        told = {"requestheader-client-ca-file": before + bundle}
        admin.merge(CONFIG_MAP, NAMESPACE, NAME, {"data": told})
        until(partial(answers, server, pair, status))


def answers(server, pair, status):
    """Whether that is the answer; None where the handshake fails."""
    try:
        return server.direct(ROOT, pair)[0] == status
    except OSError:
        return status is None
