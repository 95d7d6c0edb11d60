"""Both databases, the real ones; each test has one of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from functions.dev.postgres import Postgres
from functions.history.settings import Database
from functions.history.store import Store
from tests.history.runs import HISTORY


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL that runs; a test that stops or freezes one starts its own."""
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new and empty database is."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/history.db"
    server: Postgres = request.getfixturevalue("postgres")
    return server.database()


def open_store(url: str, **environ: str) -> Store:
    """A store on that database."""
    return Store(Database.load({"HISTORY_DATABASE_URL": url, **environ}), HISTORY)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """A store on a database that has no tables yet."""
    opened = open_store(url)
    yield opened
    opened.close()
