"""One cluster for all walks; what they installed is removed at the end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from functions.dev.cluster import Cluster, ExistingCluster
from tests.e2e.platform import Asked, Platform


@pytest.fixture(scope="session")
def existing() -> Iterator[Cluster]:
    """The cluster that KUBECONFIG reaches."""
    with ExistingCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def platform(
    existing: Cluster, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Platform]:
    """Nothing installed yet, and an empty namespace for WebApps."""
    folder: Path = tmp_path_factory.mktemp("overlay")
    found = Platform(existing, folder, Asked.load())
    existing.kubectl("create", "namespace", found.namespace)
    yield found
    if request.session.testsfailed:
        print(found.story())
    found.remove()
