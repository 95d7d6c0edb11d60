"""PostgreSQL: versions out of transaction ids, and a bound below the oldest transaction that still runs.

`version = base + transaction id * 2^20 + place in the transaction`. Transaction ids are given when a transaction first
writes, so a lower one may commit later; `pg_snapshot_xmin` is the lowest that has not ended (PostgreSQL manual,
"Transaction ID and Snapshot Information Functions"). A sequence could not say that: its numbers become visible in any
order. The price: a transaction that stays open anywhere on the server holds the view back until it ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.abc import RV, PQGen
from sqlalchemy import (
    BigInteger,
    Connection,
    Engine,
    Executable,
    create_engine,
    event,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql import insert

from functions.history.schema import reconciles, state
from functions.history.settings import Database
from functions.runtime.settings import SettingsError

PLACES = 2**20
"""The most changes in one transaction."""

_MIGRATION_LOCK, _RETENTION_LOCK = 0x7765626170700001, 0x7765626170700002
_XMIN = literal_column("pg_snapshot_xmin(pg_current_snapshot())::text::bigint", BigInteger)
_XMAX = literal_column("pg_snapshot_xmax(pg_current_snapshot())::text::bigint", BigInteger)
_XID = literal_column("pg_current_xact_id()::text::bigint", BigInteger)


class Postgresql:
    """The dialect. Nothing waits for longer than the settings say, whether the server is slow, frozen or gone."""

    def __init__(self, settings: Database) -> None:
        self._clock = _Clock(settings.statement_seconds + 1)
        self.engine: Engine = create_engine(
            settings.url,
            pool_size=settings.pool_size,
            max_overflow=0,
            pool_timeout=settings.connect_seconds,
            pool_pre_ping=True,
            use_native_hstore=False,
            connect_args=_options(settings),
        )
        self.readers: Engine = self.engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )

        class Patient(_PatientConnection):
            clock = self._clock

        def connect(_dialect: Any, _record: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
            try:
                return Patient.connect(*arguments, **{**options, **settings.secret()})
            except SettingsError as error:
                raise psycopg.OperationalError(str(error)) from error

        event.listen(self.engine, "do_connect", connect)

    @contextmanager
    def patience(self) -> Iterator[None]:
        """Server and client both keep the time: a frozen server cannot."""
        self._clock.start()
        try:
            yield
        finally:
            self._clock.stop()

    def lock(self, connection: Connection) -> None:
        """An advisory lock."""
        connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))

    def is_alone(self, connection: Connection) -> bool:
        """An advisory lock that is not waited for."""
        return bool(connection.execute(select(func.pg_try_advisory_xact_lock(_RETENTION_LOCK))).scalar_one())

    def seed(self) -> int:
        """Transaction ids will do."""
        return 0

    def next(self, connection: Connection) -> int:
        """Transaction ids are given in order, but begin anew in a server that a dump was loaded into."""
        return int(connection.execute(select(state.c.base + _XMAX * PLACES)).scalar_one())

    def take(self, connection: Connection, count: int) -> int:
        """This transaction's own range. Raises ValueError for more than it holds."""
        if count > PLACES:
            raise ValueError(f"{count} changes do not fit in one transaction; make them in parts of {PLACES}")
        return int(connection.execute(select(state.c.base + _XID * PLACES)).scalar_one())

    def bound(self, connection: Connection) -> int:
        """Of the transaction's own snapshot."""
        return int(connection.execute(select(state.c.base + _XMIN * PLACES)).scalar_one())

    def insert(self) -> Executable:
        """ON CONFLICT DO NOTHING."""
        return insert(reconciles).on_conflict_do_nothing().returning(reconciles.c.uid)


class _Clock(threading.local):
    """When this thread loses patience, for each round trip outside of an operation too."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = 0.0

    def start(self) -> None:
        self._end = time.monotonic() + self._seconds

    def stop(self) -> None:
        self._end = 0.0

    def left(self) -> float:
        return max(0.0, self._end - time.monotonic()) if self._end else self._seconds


class _PatientConnection(psycopg.Connection[Any]):
    """Gives a server up that does not answer, and itself with it: what the server may still send is not read."""

    clock: _Clock

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Every round trip comes through here."""
        began, left = time.monotonic(), self.clock.left()
        try:
            return super().wait(gen, interval, left if timeout is None else min(left, timeout))
        except psycopg.OperationalError:
            if time.monotonic() - began < left:
                raise
            self.pgconn.finish()
            raise psycopg.OperationalError("the database does not answer in time") from None


def _options(settings: Database) -> dict[str, Any]:
    millis = round(settings.statement_seconds * 1000)
    return {
        "connect_timeout": max(1, round(settings.connect_seconds)),
        "tcp_user_timeout": millis,
        "keepalives_idle": 30,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "application_name": "webapp-history",
        "options": f"-c statement_timeout={millis} -c idle_in_transaction_session_timeout={2 * millis}",
    }
