"""The apiserversource overlay: Knative's own source in the place of our bridge."""

import pytest

from tests.e2e.platform import SYSTEM


@pytest.fixture(scope="module", autouse=True)
def installed(platform):
    platform.install("apiserversource")
    platform.cluster.kubectl("wait", "apiserversource", "--all", "--for=condition=Ready", *SYSTEM, "--timeout=120s")


def test_webapp_becomes_ready_without_our_bridge(platform):
    assert "deployment.apps/webapp-bridge" not in platform.cluster.kubectl("get", "deploy", "-o", "name", *SYSTEM)
    platform.apply("first", replicas=1)
    took = platform.until(
        lambda: {"deployment.apps/first", "service/first"} <= platform.names("deploy,svc"), 90, "children"
    )
    print(f"\nthrough an ApiServerSource: {took:.2f} s")
    platform.cluster.kubectl("wait", "wa/first", "--for=condition=Ready", "-n", platform.namespace, "--timeout=90s")


def test_child_that_is_removed_comes_back(platform):
    platform.cluster.kubectl("delete", "service", "first", "-n", platform.namespace)
    platform.until(lambda: "service/first" in platform.names("svc"), 90, "the Service is there again")
