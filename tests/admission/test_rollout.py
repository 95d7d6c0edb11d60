"""Rolling restarts, rotations and idle gaps under a loop of creates: not one may fail.

Short by default. With CI=true there are more creates and longer drains, and the gaps reach beyond the
90 seconds for which the API server keeps idle connections.
"""

import os
import signal

import pytest

from functions.certs.rotation import Terms
from functions.dev.processes import ProcessGroup
from functions.webapp.resources import SYSTEM_NAMESPACE, Resource
from tests.admission import metrics
from tests.admission.load import Load
from tests.admission.rig import SERVICE, Webhooks

FULL = os.environ.get("CI") == "true"
GAPS = (1, 120) if FULL else (1, 4)
DRAIN = 5 if FULL else 2
RATE = 40 if FULL else 20
SECRET = Resource("", "v1", "Secret", "secrets")
DURATION = "apiserver_admission_webhook_admission_duration_seconds"


@pytest.fixture(scope="module")
def replicas(plane):
    with ProcessGroup(grace=1) as group, Webhooks(plane, group, replicas=2, drain=DRAIN) as running:
        yield running


@pytest.fixture(scope="module")
def namespace(make_namespace):
    return make_namespace({"sidecar-injection": "enabled"})


@pytest.fixture
def load(plane, replicas, namespace):
    with Load(plane, namespace, RATE) as running:
        running.go_on(RATE)
        yield running
        running.go_on(RATE)
    assert running.failures == []


def roll(replicas, load):
    """Replace each replica as a Deployment with maxUnavailable 0 does."""
    for name in list(replicas.processes):
        replicas.start()
        old = replicas.processes.pop(name)
        old.signal(signal.SIGTERM)
        assert old.wait(DRAIN + 20) == 0
        load.go_on(RATE)


def test_rolling_restart_fails_no_create(replicas, load):
    roll(replicas, load)
    assert len(replicas.processes) == 2


def test_renewed_certificate_fails_no_create(replicas, load, admin):
    before = replicas.serials()
    admin.delete(SECRET, SYSTEM_NAMESPACE, f"{SERVICE}-tls")
    assert f"Secret written: {SERVICE}-tls" in replicas.run.certify()
    replicas.mount()
    load.go_on(RATE)
    assert not replicas.serials() & before


def test_authority_rotated_with_overlap_fails_no_create(replicas, load):
    before = replicas.serials()
    done = replicas.run.certify(rotate=True)
    assert [each for each in done if each.startswith("caBundle")] == [
        "caBundle written: MutatingWebhookConfiguration webapp-sidecar",
        "caBundle written: ValidatingWebhookConfiguration webapp-guard",
    ]
    load.go_on(RATE)  # the old certificate under the new bundle
    replicas.mount()
    load.go_on(RATE)
    assert not replicas.serials() & before
    over = replicas.certifying(Terms(overlap=Terms().overlap * 0))
    assert "earlier authorities are trusted no more, the overlap is over" in over.certify()
    roll(replicas, load)  # new connections trust the new authority alone
    assert replicas.run.certify() == []


@pytest.mark.parametrize("gap", GAPS)
def test_idle_gap_fails_no_create(load, gap):
    load.pause(gap)
    load.go_on(RATE)


def test_figures_of_the_api_server_count_every_call(plane, replicas, load):
    before = metrics.histogram(plane, DURATION, name="guard.platform.example.com")
    load.go_on(RATE)
    spent = metrics.histogram(plane, DURATION, name="guard.platform.example.com").since(before)
    assert spent.count >= RATE - 8
    assert 0 < spent.quantile(0.5) <= spent.quantile(0.99)
