"""Knative's real webhooks and our offline lint: one verdict on what we ship, and on the mistakes people make."""

import pytest
import yaml

from functions.dev.cluster import KubectlError
from functions.dev.manifestlint import complaints
from tests.knative.kustomize import FOLDER, OVERLAYS, PROFILES, built, composed, manifests, only
from tests.knative.wrong import EVENTING, SERVICE, made

BY_KNATIVE = r"webhook.(serving|eventing).knative.dev. denied|field not declared in schema|is invalid: spec"
"""How a refusal reads that comes from a webhook, or from the schema of a CRD."""


def tried(knative, text):
    """What the API server and every webhook say to a server-side apply, warnings included, as a dry run."""
    flags = ("--server-side", "--force-conflicts", "--warnings-as-errors", "--dry-run=server")
    return knative.kubectl("apply", *flags, "-f", "-", stdin=text).splitlines()


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_overlay_is_accepted_without_a_warning(knative, overlay):
    folder = FOLDER / "overlays" / overlay
    found = manifests(knative, folder)
    assert complaints(found) == []
    assert len(tried(knative, built(knative, folder))) == len(found)


@pytest.mark.parametrize("profile", PROFILES)
def test_profile_is_accepted_without_a_warning(knative, tmp_path, profile):
    folder = composed(tmp_path, profile)
    assert complaints(manifests(knative, folder)) == []
    assert tried(knative, built(knative, folder))


def test_install_file_is_the_direct_overlay(knative):
    def ordered(found):
        return sorted(found, key=lambda each: (each["kind"], each["metadata"]["name"]))

    shipped = list(yaml.safe_load_all((FOLDER / "install.yaml").read_text()))
    assert ordered(shipped) == ordered(manifests(knative, FOLDER / "overlays" / "direct"))


def test_every_kind_of_a_knative_api_is_one_that_a_webhook_looks_at(knative):
    shipped = [each for overlay in OVERLAYS for each in manifests(knative, FOLDER / "overlays" / overlay)]
    assert {each["kind"] for each in shipped if "knative.dev/" in each["apiVersion"]} == {
        "Service",
        *(kind for _, kind, _ in EVENTING.values()),
    }


@pytest.mark.parametrize("mistake", SERVICE)
def test_mistake_in_a_service_is_refused_by_knative_and_by_the_lint(knative, mistake):
    refused(knative, only(knative, "direct", "Service"), SERVICE[mistake])


@pytest.mark.parametrize("mistake", EVENTING)
def test_mistake_in_a_source_is_refused_by_knative_and_by_the_lint(knative, mistake):
    overlay, kind, change = EVENTING[mistake]
    refused(knative, only(knative, overlay, kind), change)


def refused(knative, manifest, mistake):
    wrong, text = made(manifest, mistake)
    with pytest.raises(KubectlError, match=BY_KNATIVE):
        tried(knative, text)
    assert complaints([wrong])
