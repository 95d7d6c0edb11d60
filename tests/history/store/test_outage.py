"""A database that is locked, frozen, killed or gone: told within the time set, and forgotten when it is back."""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from functions.aggregation.collection import Selection
from functions.aggregation.status import Unavailable
from functions.dev.postgres import Postgres
from tests.history.conftest import open_store
from tests.history.runs import row, rows

CONNECT, STATEMENT = 2, 0.5
LIMIT = 2 * CONNECT + STATEMENT + 1
"""Waiting for a place in the pool, connecting, and the operation itself."""
SLACK = 3
"""For a machine that has other things to do."""


@pytest.fixture(scope="module")
def server():
    with Postgres() as mine:
        yield mine


@pytest.fixture
def store(server):
    opened = open_store(
        server.database(), HISTORY_CONNECT_SECONDS=str(CONNECT), HISTORY_STATEMENT_SECONDS=str(STATEMENT)
    )
    opened.append(rows(3))
    yield opened
    server.thaw()
    opened.close()


def operations(store):
    version = store.version()
    return [
        lambda: store.append([row(50)]),
        lambda: store.get("team", row(1).name),
        lambda: store.list(Selection(), 10),
        lambda: store.changes(version, 10),
        store.version,
    ]


def refused(operation):
    began = time.monotonic()
    with pytest.raises(Unavailable, match="database of the history"):
        operation()
    return time.monotonic() - began


def test_a_frozen_server_holds_nobody_longer_than_the_settings_say(server, store):
    asked = operations(store)
    server.freeze()
    with ThreadPoolExecutor(12) as pool:
        took = list(pool.map(refused, asked * 2))
    assert max(took) < LIMIT + SLACK
    server.thaw()
    assert len(store.list(Selection(), 10).objects) >= 3
    assert store.append([row(51)]) == 1


def test_a_connection_that_was_just_used_is_given_up_too(server, store):
    began = time.monotonic()

    def use():
        with store._dialect.patience(), store._dialect.readers.begin() as connection:
            connection.exec_driver_sql("SELECT 1")
            server.freeze()
            connection.exec_driver_sql("SELECT 1")

    with pytest.raises(OperationalError, match="does not answer in time"):
        use()
    assert time.monotonic() - began < LIMIT + SLACK
    server.thaw()
    assert len(store.list(Selection(), 10).objects) == 3


def test_a_killed_server_is_told_of_and_its_return_needs_nothing(server, store):
    asked = operations(store)
    server.kill()
    took = [refused(operation) for operation in asked]
    assert max(took) < LIMIT + SLACK
    server.start()
    assert len(store.list(Selection(), 10).objects) == 3
    assert store.append(rows(5)) == 2


def test_a_restart_between_two_requests_is_not_noticed(server, store):
    store.version()
    server.stop()
    server.start()
    assert store.append([row(60)]) == 1


def test_a_statement_that_takes_too_long_is_ended_by_the_server(server, store):
    with store._dialect.engine.begin() as blocker:
        blocker.exec_driver_sql("LOCK TABLE reconciles IN ACCESS EXCLUSIVE MODE")
        assert refused(lambda: store.append([row(70)])) < LIMIT + SLACK
    assert store.append([row(70)]) == 1


def test_a_server_that_is_not_there_at_the_start_is_waited_for(server):
    server.stop()
    opened = open_store(server.url("postgres"), HISTORY_STATEMENT_SECONDS="0.5")
    refused(opened.version)
    server.start()
    assert opened.append(rows(2)) == 2
    opened.close()


def test_a_password_from_a_file_may_change(server, tmp_path):
    word = Path(tmp_path / "password")
    word.write_text("wrong\n")
    url = server.database().replace(f":{server.password}@", "@")
    opened = open_store(url, HISTORY_DATABASE_PASSWORD_FILE=str(word))
    refused(opened.version)
    word.write_text(f"{server.password}\n")
    assert opened.append(rows(2)) == 2
    opened.close()


def test_a_password_file_that_vanishes_is_an_outage_with_a_reason(server, tmp_path):
    word = Path(tmp_path / "password")
    word.write_text(server.password)
    opened = open_store(
        server.database().replace(f":{server.password}@", "@"), HISTORY_DATABASE_PASSWORD_FILE=str(word)
    )
    word.unlink()
    with pytest.raises(Unavailable, match="HISTORY_DATABASE_PASSWORD_FILE"):
        opened.version()
    opened.close()


def test_a_file_that_somebody_writes_is_read_and_written_later(tmp_path):
    opened = open_store(f"sqlite:///{tmp_path}/h.db", HISTORY_STATEMENT_SECONDS="0.2")
    opened.append(rows(3))
    other = sqlite3.connect(tmp_path / "h.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused(lambda: opened.append([row(9)]))
    assert len(opened.list(Selection(), 10).objects) == 3
    other.execute("COMMIT")
    assert opened.append([row(9)]) == 1
    opened.close()
    other.close()


def test_a_folder_that_is_not_there_is_an_outage(tmp_path):
    opened = open_store(f"sqlite:///{tmp_path}/none/h.db")
    refused(opened.version)
    (tmp_path / "none").mkdir()
    assert opened.append(rows(2)) == 2
    opened.close()
