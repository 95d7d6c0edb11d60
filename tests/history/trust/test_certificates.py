"""The server's certificate and its authority are replaced under a load of requests: not one may fail."""

import pytest

from functions.certs.rotation import Terms
from functions.webapp.resources import SYSTEM_NAMESPACE, Resource
from tests.cluster.admin import until
from tests.history.trust.rig import ALL, SERVICE, History
from tests.meanwhile import Meanwhile

SECRET = Resource("", "v1", "Secret", "secrets")


class Load(Meanwhile):
    """Lists of reconciles through kube-apiserver, without a pause."""

    pause = 0.02

    def __init__(self, plane):
        self._plane = plane
        self.answered, self.failures = 0, []

    def again(self):
        answer = self._plane._http.request("GET", f"{self._plane.server}{ALL}", timeout=10.0, retries=False)
        self.answered += 1
        if answer.status != 200:
            self.failures.append((answer.status, answer.data))

    def go_on(self):
        seen = self.answered
        until(lambda: self.answered >= seen + 20)


@pytest.fixture
def history(plane, group):
    with History(plane, group, replicas=2) as found:
        yield found


def test_certificate_and_authority_are_replaced_without_a_failed_request(history, plane, admin):
    with Load(plane) as load:
        load.go_on()
        first = history.serials()
        admin.delete(SECRET, SYSTEM_NAMESPACE, f"{SERVICE}-tls")
        assert f"Secret written: {SERVICE}-tls" in history.run.certify()
        history.mount()
        load.go_on()
        second = history.serials()
        assert not first & second

        done = history.run.certify(rotate=True)
        assert "caBundle written: APIService v1alpha1.history.platform.example.com" in done
        load.go_on()  # the old certificate under the new bundle
        history.mount()
        load.go_on()
        assert not history.serials() & second
        over = Terms(overlap=Terms().overlap * 0)
        run = type(history.run)(history.run.store, SYSTEM_NAMESPACE, [SERVICE], terms=over, settle=1.0)
        assert "earlier authorities are trusted no more, the overlap is over" in run.certify()
        history.restart()  # new connections trust the new authority alone
        load.go_on()
        assert history.available()[0] == "True"
        assert history.run.certify() == []
    assert load.failures == []
