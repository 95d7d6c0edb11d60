"""The history behind a real kube-apiserver: two replicas over each of the databases."""

import itertools

import pytest

from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup
from functions.history.record import resource
from tests.aggregation.rig import AggregatedApi
from tests.history.conftest import open_store
from tests.history.runs import HISTORY

RECONCILES = resource(HISTORY)
_numbers = itertools.count()


@pytest.fixture(scope="session")
def plane():
    with ControlPlane() as control_plane:
        control_plane.install()
        yield control_plane


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def database(request, tmp_path_factory):
    """The URL of an empty database for all tests of one kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('history')}/history.db"
    return request.getfixturevalue("postgres").database()


@pytest.fixture(scope="session")
def store(database):
    """What the recorder writes by."""
    opened = open_store(database, HISTORY_STATEMENT_SECONDS="60")  # so much is written at once that some of it waits
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def history(plane, database):
    """Two replicas, registered."""
    with (
        ProcessGroup() as group,
        AggregatedApi(
            plane,
            group,
            "webapp-history",
            RECONCILES,
            "functions.history.apiserver",
            replicas=2,
            HISTORY_DATABASE_URL=database,
        ) as api,
    ):
        yield api


@pytest.fixture
def team():
    """A namespace in which no other test records anything; nobody asks whether it exists."""
    return f"team-{next(_numbers)}"
