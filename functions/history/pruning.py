"""Retention in SQL: what is too much is found in one look, and goes in transactions that are short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, bindparam, delete, func, or_, select, update

from functions.history.dialect import Dialect
from functions.history.schema import reconciles, state

LINGER = timedelta(hours=1)
"""How long watches and pages that began before a row went can still be told about it."""

MOST = 1000
"""Rows of one transaction."""

MOST_AT_ONCE = 100_000
"""Rows of one look; what is still too much then is found by the next."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows became tombstones, and how many tombstones were removed."""

    deleted: int = 0
    removed: int = 0


def surplus(connection: Connection, runs: int, oldest: datetime) -> Sequence[str]:
    """The uids of the rows that are not among the newest `runs` of their WebApp, or older; the oldest first."""
    columns = reconciles.c
    newer = func.row_number().over(
        partition_by=(columns.namespace, columns.webapp), order_by=(columns.started.desc(), columns.uid.desc())
    )
    alive = columns.deleted_version.is_(None)
    ranked = select(columns.uid, columns.started, newer.label("place")).where(alive).subquery()
    found = select(ranked.c.uid).where(or_(ranked.c.place > runs, ranked.c.started < _micros(oldest)))
    return connection.execute(found.order_by(ranked.c.started, ranked.c.uid).limit(MOST_AT_ONCE)).scalars().all()


def bury(connection: Connection, dialect: Dialect, uids: Sequence[str], now: datetime) -> int:
    """Make tombstones, each with a version of its own, so that a watch can stop between any two; how many."""
    columns = reconciles.c
    there = select(columns.uid).where(columns.uid.in_(uids), columns.deleted_version.is_(None))
    alive = set(connection.execute(there).scalars())
    doomed = [uid for uid in uids if uid in alive]
    if doomed:
        first = dialect.take(connection, len(doomed))
        marked = (
            update(reconciles)
            .where(columns.uid == bindparam("doomed"))
            .values(deleted_version=bindparam("at_version"), deleted_at=_micros(now))
        )
        connection.execute(marked, [{"doomed": uid, "at_version": first + place} for place, uid in enumerate(doomed)])
    return len(doomed)


def remove(connection: Connection, dialect: Dialect, before: datetime) -> int:
    """Remove tombstones from before that time, none that a reader cannot know of yet, and move the horizon."""
    columns = reconciles.c
    known = columns.deleted_version < dialect.bound(connection)
    old = select(columns.deleted_version).where(known, columns.deleted_at < _micros(before))
    versions = connection.execute(old.order_by(columns.deleted_version).limit(MOST)).scalars().all()
    if not versions:
        return 0
    removed = connection.execute(delete(reconciles).where(columns.deleted_version <= versions[-1]))
    connection.execute(update(state).where(state.c.horizon < versions[-1]).values(horizon=versions[-1]))
    return removed.rowcount


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
