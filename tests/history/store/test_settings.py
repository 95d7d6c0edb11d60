"""Settings: what is accepted, what is refused with which words, and that no word is a password."""

from __future__ import annotations

import pytest

from functions.history.recorder.settings import Settings
from functions.history.settings import Database
from functions.runtime.settings import SettingsError


def database(**environ):
    return Database.load({f"HISTORY_{name}": value for name, value in environ.items()})


def refused(load, environ):
    with pytest.raises(SettingsError) as found:
        load(environ)
    return str(found.value)


def test_the_default_is_a_file():
    found = database()
    assert (found.is_sqlite, found.url.database) == (True, "/var/lib/webapp/history.db")


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg"])
def test_postgresql_has_one_driver_whichever_way_it_is_spelled(scheme):
    found = database(DATABASE_URL=f"{scheme}://u@db:5432/history?sslmode=require")
    assert (found.url.drivername, found.is_sqlite) == ("postgresql+psycopg", False)
    assert found.url.query["sslmode"] == "require"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hunter2@db/x",
        "postgresql+asyncpg://u:hunter2@db/x",
        "hunter2",
        "postgresql://u:hunter2@/x",
        "postgresql://u:hunter2@db:port/x",
        "sqlite://",
        "sqlite:///:memory:",
        "",
    ],
)
def test_what_is_no_database_is_refused_without_repeating_it(url):
    if not url:
        return
    text = refused(Database.load, {"HISTORY_DATABASE_URL": url})
    assert "HISTORY_DATABASE_URL" in text
    assert "hunter2" not in text


def test_a_password_comes_from_the_url_or_from_a_file_and_not_from_both(tmp_path):
    (word := tmp_path / "password").write_text(" hunter2\n")
    environ = {"HISTORY_DATABASE_PASSWORD_FILE": str(word)}
    assert Database.load({**environ, "HISTORY_DATABASE_URL": "postgresql://u@db/x"}).secret() == {"password": "hunter2"}
    assert Database.load({"HISTORY_DATABASE_URL": "postgresql://u:p@db/x"}).secret() == {}
    both = refused(Database.load, {**environ, "HISTORY_DATABASE_URL": "postgresql://u:hunter3@db/x"})
    assert "leave one of them out" in both
    assert "hunter" not in both
    assert "SQLite" in refused(Database.load, environ)


@pytest.mark.parametrize("content", [None, "", " \n", b"\xff"])
def test_a_password_file_without_a_password_is_refused(tmp_path, content):
    word = tmp_path / "password"
    if content is not None:
        word.write_bytes(content if isinstance(content, bytes) else content.encode())
    text = refused(
        Database.load, {"HISTORY_DATABASE_URL": "postgresql://u@db/x", "HISTORY_DATABASE_PASSWORD_FILE": str(word)}
    )
    assert text.startswith(f"HISTORY_DATABASE_PASSWORD_FILE='{word}'")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HISTORY_POOL_SIZE", "0"),
        ("HISTORY_CONNECT_SECONDS", "1"),
        ("HISTORY_STATEMENT_SECONDS", "never"),
        ("HISTORY_KEEP_RUNS", "0"),
        ("HISTORY_KEEP_DAYS", "-1"),
        ("HISTORY_THREADS", "1"),
        ("HISTORY_PRUNE_SECONDS", "0"),
        ("HISTORY_API_GROUP", "nodots"),
        ("HISTORY_API_GROUP", "Not.A.Group"),
        ("PORT", "http"),
    ],
)
def test_a_value_that_cannot_be_meant_is_named(name, value):
    assert refused(Settings.load, {name: value}).startswith(f"{name}={value!r}: ")


def test_some_threads_are_left_for_probes():
    assert "HISTORY_THREADS=8" in refused(Settings.load, {"HISTORY_THREADS": "8", "HISTORY_QUEUE": "8"})
    for threads in ("2", "3", "8", "512"):
        found = Settings.load({"HISTORY_THREADS": threads})
        assert 1 <= found.queue < found.threads


def test_the_defaults_keep_a_hundred_runs_and_thirty_days():
    found = Settings.load({})
    assert (found.keep_runs, found.age.days, found.group) == (100, 30, "platform.example.com")
    assert found.history_group == "history.platform.example.com"
