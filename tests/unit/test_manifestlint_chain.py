"""Each time limit of the shipped manifests outlives the one inside it; the lint says so when one no longer does."""

from inspect import signature
from pathlib import Path

import pytest

from functions.dev import install
from functions.dev.manifestlint import chain, complaints
from functions.runtime import server

KNATIVE = Path(__file__).parents[2] / "knative"


@pytest.fixture
def shipped():
    found = install.manifests(KNATIVE)
    function = next(each for each in found if each["apiVersion"].startswith("serving.knative.dev/"))
    bridge = next(each for each in found if each["kind"] == "Deployment")
    pods = [each["spec"]["template"]["spec"] for each in (function, bridge)]
    return found, *pods


def variable(pod, name, value):
    pod["containers"][0]["env"].append({"name": name, "value": value})


def test_shipped_times_fit(shipped):
    assert complaints(shipped[0]) == []


def test_pod_that_would_be_killed_while_it_drains_is_told(shipped):
    found, function, _ = shipped
    function["timeoutSeconds"] = 30 + 25
    (fault,) = complaints(found)
    assert fault.startswith("timeoutSeconds: 55 must be more than")


def test_deadline_longer_than_the_grace_is_told(shipped):
    found, function, _ = shipped
    variable(function, "RECONCILE_DEADLINE_SECONDS", "25")
    (fault,) = complaints(found)
    assert fault.startswith("RECONCILE_DEADLINE_SECONDS: 25 must be less than")


def test_more_requests_than_threads_are_told(shipped):
    found, function, _ = shipped
    function["containerConcurrency"] = 9
    (fault,) = complaints(found)
    assert fault.startswith("containerConcurrency: 9 must be RECONCILE_THREADS, 8")


def test_bridge_that_gives_up_before_knative_answers_is_told(shipped):
    found, _, bridge = shipped
    variable(bridge, "BRIDGE_RESPONSE_SECONDS", "90")
    (fault,) = complaints(found)
    assert fault.startswith("BRIDGE_RESPONSE_SECONDS: must be more than")


def test_lint_knows_gunicorns_grace():
    assert signature(server.serve).parameters["graceful_seconds"].default == chain.GRACEFUL_SECONDS
