"""Retention in SQL: rows become tombstones, tombstones go, each in transactions that are short."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from sqlalchemy import Connection, bindparam, delete, func, or_, select, update

from functions.history.dialect import Dialect
from functions.history.schema import reconciles, state

LINGER = timedelta(hours=1)
"""How long watches and pages that began before a row went can still be told about it."""

MOST = 1000
"""Rows of one transaction."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows became tombstones, and how many tombstones were removed."""

    deleted: int = 0
    removed: int = 0

    def plus(self, part: Part, done: int) -> Pruned:
        """With what one transaction did."""
        if isinstance(part, _Deletion):
            return replace(self, deleted=self.deleted + done)
        return replace(self, removed=self.removed + done)


class Part(Protocol):
    """One of the two things to do, again until it does less than MOST."""

    def carry_out(self, connection: Connection, dialect: Dialect) -> int:
        """How many rows it was done to."""
        ...


def parts(runs: int, age: timedelta, now: datetime, linger: timedelta) -> Iterator[Part]:
    """What there is to do."""
    yield _Deletion(runs, _micros(now - age), _micros(now))
    yield _Removal(_micros(now - linger))


@dataclass(frozen=True)
class _Deletion:
    runs: int
    oldest: int
    now: int

    def carry_out(self, connection: Connection, dialect: Dialect) -> int:
        """The oldest first, each with a version of its own, so that a watch can stop between any two."""
        columns = reconciles.c
        newer = func.row_number().over(
            partition_by=(columns.namespace, columns.webapp), order_by=(columns.started.desc(), columns.uid.desc())
        )
        alive = select(columns.uid, columns.started, newer.label("place")).where(columns.deleted_version.is_(None))
        ranked = alive.subquery()
        surplus = or_(ranked.c.place > self.runs, ranked.c.started < self.oldest)
        doomed = select(ranked.c.uid).where(surplus).order_by(ranked.c.started, ranked.c.uid).limit(MOST)
        uids = connection.execute(doomed).scalars().all()
        if not uids:
            return 0
        first = dialect.take(connection, len(uids))
        marked = (
            update(reconciles)
            .where(columns.uid == bindparam("doomed"), columns.deleted_version.is_(None))
            .values(deleted_version=bindparam("at_version"), deleted_at=self.now)
        )
        connection.execute(marked, [{"doomed": uid, "at_version": first + place} for place, uid in enumerate(uids)])
        return len(uids)


@dataclass(frozen=True)
class _Removal:
    before: int

    def carry_out(self, connection: Connection, dialect: Dialect) -> int:
        """In the order of their versions, and none that a reader cannot know of yet."""
        columns = reconciles.c
        known = columns.deleted_version < dialect.bound(connection)
        old = select(columns.deleted_version).where(known, columns.deleted_at < self.before)
        versions = connection.execute(old.order_by(columns.deleted_version).limit(MOST)).scalars().all()
        if not versions:
            return 0
        removed = connection.execute(delete(reconciles).where(columns.deleted_version <= versions[-1]))
        connection.execute(update(state).where(state.c.horizon < versions[-1]).values(horizon=versions[-1]))
        return removed.rowcount


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
