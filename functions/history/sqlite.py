"""SQLite: a file in WAL mode, one writer at a time, versions counted in a row of their own."""

from __future__ import annotations

import sqlite3
import time
from contextlib import AbstractContextManager, nullcontext

from sqlalchemy import Connection, Engine, Executable, create_engine, event, select, update
from sqlalchemy.dialects.sqlite import insert

from functions.history.schema import reconciles, state
from functions.history.settings import Database

_WRITES = "history_writes"


class Sqlite:
    """The dialect. Durable when committed: the WAL is synced (`synchronous=FULL`)."""

    def __init__(self, settings: Database) -> None:
        made = create_engine(
            settings.url,
            pool_size=settings.pool_size,
            max_overflow=0,
            pool_timeout=settings.connect_seconds,
            connect_args={"timeout": settings.statement_seconds, "isolation_level": None},
        )
        event.listen(made, "connect", _configure)
        event.listen(made, "begin", _begin)
        self.engine: Engine = made.execution_options(**{_WRITES: True})
        self.readers: Engine = made

    def patience(self) -> AbstractContextManager[None]:
        """Waiting for another writer ends by itself: that is the connection's `timeout`."""
        return nullcontext()

    def lock(self, connection: Connection) -> None:
        """A transaction that writes is alone from its beginning."""

    def is_alone(self, connection: Connection) -> bool:  # noqa: ARG002 - the protocol's
        """As above."""
        return True

    def seed(self) -> int:
        """By the clock, so that the versions of a file that replaces a lost one are above the lost ones."""
        return time.time_ns() // 1000

    def next(self, connection: Connection) -> int:
        """As counted."""
        return int(connection.execute(select(state.c.base)).scalar_one()) + 1

    def take(self, connection: Connection, count: int) -> int:
        """Count on."""
        counted = update(state).values(base=state.c.base + count).returning(state.c.base)
        return int(connection.execute(counted).scalar_one()) - count + 1

    def bound(self, connection: Connection) -> int:
        """There is no transaction beside a committed one."""
        return self.next(connection)

    def insert(self) -> Executable:
        """ON CONFLICT DO NOTHING."""
        return insert(reconciles).on_conflict_do_nothing().returning(reconciles.c.uid)


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
