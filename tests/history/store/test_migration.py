"""The tables are made and brought up to date by whoever comes first, and by nobody else."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from functions.aggregation.collection import Selection
from functions.aggregation.status import Expired, Unavailable
from functions.history import migration
from functions.history.schema import metadata
from tests.history.conftest import open_store
from tests.history.runs import row, rows

PROGRAM = """import sys
from functions.history.settings import Database
from functions.history.store import Store
Store(Database.load({"HISTORY_DATABASE_URL": sys.argv[1]}), "history.example.com").version()"""


def test_many_that_start_at_once_all_find_the_same_tables(url):
    stores = [open_store(url) for _ in range(8)]
    barrier = threading.Barrier(8)

    def write(number):
        barrier.wait()
        return stores[number].append([row(number)])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(write, range(8))) == [1] * 8
    assert len(stores[0].list(Selection(), 0).objects) == 8
    for each in stores:
        each.close()


def test_processes_that_start_at_once_all_come_up(url):
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM, url], stderr=subprocess.PIPE) for _ in range(2)]
    assert [(each.communicate()[1].decode(), each.returncode) for each in running] == [("", 0)] * 2


def test_the_migrations_make_the_tables_that_statements_are_written_against(store):
    store.version()
    with store._dialect.readers.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "history_version"})
        assert compare_metadata(context, metadata) == []


def test_the_newest_script_is_the_one_that_processes_look_for():
    config = Config()
    config.set_main_option("script_location", str(migration.SCRIPTS))
    assert ScriptDirectory.from_config(config).get_heads() == [f"v{migration.HEAD}"]


def test_a_process_that_finds_its_tables_does_not_import_alembic(url, store):
    store.version()
    program = f"{PROGRAM}; assert 'alembic' not in sys.modules"
    subprocess.run([sys.executable, "-c", program, url], check=True)


def test_tables_of_a_later_release_are_left_as_they_are(url, store):
    store.append(rows(2))
    with store._dialect.engine.begin() as connection:
        connection.execute(text("UPDATE history_version SET version_num = 'v999'"))
    older = open_store(url)
    assert older.append(rows(3)) == 1
    older.close()


def test_a_second_start_keeps_everything(url, store):
    store.append(rows(3))
    before = store.list(Selection(), 0)
    again = open_store(url)
    assert again.list(Selection(), 0).objects == before.objects
    assert again.changes(before.version, 0).changes == []
    again.close()


def test_tables_that_were_taken_away_are_made_anew_without_a_restart(store):
    store.append(rows(3))
    with store._dialect.engine.begin() as connection:
        for table in ("reconciles", "history_state", "history_version"):
            connection.execute(text(f"DROP TABLE {table}"))
    with pytest.raises(Unavailable):
        store.append(rows(3))
    assert store.append(rows(3)) == 3


def test_a_new_sqlite_file_goes_on_above_the_lost_one(tmp_path):
    lost = open_store(f"sqlite:///{tmp_path}/a.db")
    lost.append(rows(50))
    seen = lost.version()
    new = open_store(f"sqlite:///{tmp_path}/b.db")
    assert new.version() > seen
    with pytest.raises(Expired):
        new.changes(seen, 0)
    lost.close()
    new.close()


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_dump_that_was_loaded_into_a_younger_server_goes_on_above_what_it_holds(url, store):
    store.append(rows(5))
    seen = store.version()
    older = 2**50
    with store._dialect.engine.begin() as connection:
        connection.execute(text(f"UPDATE reconciles SET version = version + {older}"))
    store.close()
    again = open_store(url)
    assert len(again.list(Selection(), 0).objects) == 5
    top = max(int(each["metadata"]["resourceVersion"]) for each in again.list(Selection(), 0).objects)
    assert again.version() >= top > seen
    start = again.version()
    again.append([row(9)])
    (change,) = again.changes(start, 0).changes
    assert change.version > start
    with pytest.raises(Expired):
        again.changes(seen, 0)
    once_more = open_store(url)
    assert once_more.version() < change.version + 2**30
    again.close()
    once_more.close()
