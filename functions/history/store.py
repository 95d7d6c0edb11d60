"""The history in SQL: written by the recorder, read by the API server, tidied by whoever comes to it first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Select, and_, or_, select, tuple_
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from functions.aggregation.collection import Change, Changes, ChangeType, Object, Page, Selection
from functions.aggregation.status import BadRequest, Expired, Unavailable
from functions.history import migration, pruning
from functions.history.dialect import Dialect
from functions.history.pruning import Pruned
from functions.history.record import Record, to_object
from functions.history.schema import reconciles, state
from functions.history.selection import Condition, conditions, equals
from functions.history.settings import Database

_COLUMNS = [
    reconciles.c[name]
    for name in ("uid", "namespace", "name", "webapp", "outcome", "trigger", "started", "body", "version")
]
_MOST = 10_000
"""Rows of one statement, where nobody asked for fewer."""


class Store:
    """The collection of reconciles, newest first. Everything raises `status.Unavailable` while the database is away.

    The database is first looked at when it is first needed, and its tables are brought up to date then.
    """

    def __init__(self, settings: Database, group: str) -> None:
        self._dialect = _dialect(settings)
        self._group = group
        self._migrating = threading.Lock()
        self._is_migrated = False

    def close(self) -> None:
        """Close all connections."""
        self._dialect.engine.dispose()

    def append(self, records: Sequence[Record]) -> int:
        """Write those that are not there yet, all or none; how many these were. They are durable then."""
        if not records:
            return 0
        once = {each.uid: each for each in records}
        with self._writing() as connection:
            first = self._dialect.take(connection, len(once))
            rows = [{**asdict(each), "version": first + place} for place, each in enumerate(once.values())]
            rows.sort(key=itemgetter("uid"))  # so that two that write the same rows do not wait for each other in turn
            return len(connection.execute(self._dialect.insert(), rows).all())

    def get(self, namespace: str, name: str) -> Object | None:
        """One reconcile as it is now."""
        with self._reading() as connection:
            bound = self._dialect.bound(connection)
            wanted = and_(equals(reconciles.c.namespace, namespace), equals(reconciles.c.name, name))
            row = connection.execute(select(*_COLUMNS).where(wanted, _alive(bound - 1))).mappings().first()
            return None if row is None else self._object(row, row["version"])

    def list(self, selection: Selection, limit: int, at: int = 0, after: str = "") -> Page:
        """At most `limit` of them; see `Collection`."""
        with self._reading() as connection:
            version = self._dialect.bound(connection) - 1
            if at:
                self._check(connection, at, version)
                version = at
            asked = select(*_COLUMNS).where(_alive(version), *conditions(selection))
            if after:
                asked = asked.where(tuple_(reconciles.c.started, reconciles.c.uid) < tuple_(*_position(after)))
            asked = asked.order_by(reconciles.c.started.desc(), reconciles.c.uid.desc())
            rows = connection.execute(asked.limit(limit + 1) if limit else asked).mappings().all()
        shown = rows[:limit] if limit else rows
        more = f"{shown[-1]['started']}.{shown[-1]['uid']}" if len(rows) > len(shown) else ""
        return Page([self._object(row, row["version"]) for row in shown], version, more)

    def changes(self, after: int, limit: int) -> Changes:
        """What changed in all namespaces; see `Collection`."""
        most = limit or _MOST
        with self._reading() as connection:
            bound = self._dialect.bound(connection)
            self._check(connection, after, bound - 1)
            added = connection.execute(_between(reconciles.c.version, after, bound, most)).mappings().all()
            gone = connection.execute(_between(reconciles.c.deleted_version, after, bound, most)).mappings().all()
        found = [self._change(ChangeType.ADDED, row["version"], row) for row in added]
        found += [self._change(ChangeType.DELETED, row["deleted_version"], row) for row in gone]
        found.sort(key=lambda change: change.version)
        if len(found) < most:
            return Changes(found, bound - 1)
        return Changes(found[:most], found[most - 1].version)

    def version(self) -> int:
        """The newest version up to which everything is there."""
        with self._reading() as connection:
            return self._dialect.bound(connection) - 1

    def prune(self, runs: int, age: timedelta, now: datetime, *, linger: timedelta = pruning.LINGER) -> Pruned:
        """Keep the newest `runs` of each WebApp, and of these none that is older than `age`.

        What goes stays as a tombstone for `linger`; then it is removed for good, and the horizon moves.
        """
        with self._reading() as connection:
            doomed = pruning.surplus(connection, runs, now - age)
        deleted = removed = 0
        for start in range(0, len(doomed), pruning.MOST):
            part = doomed[start : start + pruning.MOST]
            deleted += self._alone(partial(pruning.bury, uids=part, now=now))
        while done := self._alone(partial(pruning.remove, before=now - linger)):
            removed += done
        return Pruned(deleted, removed)

    def _alone(self, tidy: Callable[[Connection, Dialect], int]) -> int:
        """What it did in a transaction of its own; nothing where another process is at it."""
        with self._writing() as connection:
            return tidy(connection, self._dialect) if self._dialect.is_alone(connection) else 0

    def _change(self, type_: ChangeType, version: int, row: Any) -> Change:
        return Change(type_, version, self._object(row, version))

    def _object(self, row: Any, version: int) -> Object:
        return to_object(row, self._group, version)

    def _check(self, connection: Connection, at: int, newest: int) -> None:
        horizon = connection.execute(select(state.c.horizon)).scalar_one()
        if at < horizon:
            raise Expired("the version asked for is older than what is kept; list again")
        if at > newest:
            raise Expired("the version asked for is newer than anything here: the database was replaced; list again")

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._answering(), self._dialect.readers.begin() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._answering(), self._dialect.engine.begin() as connection:
            yield connection

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """What the database does wrong becomes Unavailable; its tables are looked at again after that."""
        try:
            self._migrate()
            with self._dialect.patience():
                yield
        except PoolTimeout:
            raise Unavailable("the database of the history is busy: all connections wait for it") from None
        except DBAPIError as error:
            self._is_migrated = False
            raise Unavailable(f"the database of the history is away: {_line(error)}") from error

    def _migrate(self) -> None:
        if self._is_migrated:
            return
        with self._migrating:
            if not self._is_migrated:
                migration.upgrade(self._dialect)
                self._is_migrated = True


def _dialect(settings: Database) -> Dialect:
    """Only the driver that is needed is imported."""
    if settings.is_sqlite:
        from functions.history.sqlite import Sqlite  # noqa: PLC0415 - as said

        return Sqlite(settings)
    from functions.history.postgresql import Postgresql  # noqa: PLC0415 - as said

    return Postgresql(settings)


def _alive(version: int) -> Condition:
    """Those that are there at a version."""
    deleted = reconciles.c.deleted_version
    return and_(reconciles.c.version <= version, or_(deleted.is_(None), deleted > version))


def _between(column: Any, after: int, bound: int, limit: int) -> Select[Any]:
    asked = select(*_COLUMNS, reconciles.c.deleted_version).where(column > after, column < bound)
    return asked.order_by(column).limit(limit)


def _position(after: str) -> tuple[int, str]:
    started, _, uid = after.partition(".")
    if not (started.isascii() and started.isdigit() and len(started) < 19 and uid.isascii() and uid.isprintable()):
        raise BadRequest("continue: is no position that was given out; list again")
    return int(started), uid


def _line(error: DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0][:200]
