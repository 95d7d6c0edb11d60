"""The tables. Migrations make them; this is what statements are written against."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, MetaData, SmallInteger, String, Table, Text

metadata = MetaData()

reconciles = Table(
    "reconciles",
    metadata,
    Column("uid", String(36), primary_key=True),
    Column("namespace", String(253), nullable=False),
    Column("name", String(253), nullable=False),
    Column("webapp", String(253), nullable=False),
    Column("outcome", String(63), nullable=False),
    Column("trigger", String(63), nullable=False),
    Column("started", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("deleted_version", BigInteger),
    Column("deleted_at", BigInteger),
    Index("reconciles_by_name", "namespace", "name", unique=True),
    Index("reconciles_by_start", "started", "uid"),
    Index("reconciles_by_namespace", "namespace", "started", "uid"),
    Index("reconciles_by_webapp", "namespace", "webapp", "started", "uid"),
    Index("reconciles_by_version", "version", unique=True),
    Index("reconciles_by_deletion", "deleted_version"),
)
"""One row for each run. A row with a `deleted_version` is a tombstone: old pages and watches still need it.

`started` and `deleted_at` are microseconds of the epoch.
"""

state = Table(
    "history_state",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("base", BigInteger, nullable=False),
    Column("horizon", BigInteger, nullable=False),
)
"""One row. `base`: in SQLite the last version given, in PostgreSQL what is added to every version.

`horizon`: what was removed for good was removed at or before this version, so nothing older can be told completely.
"""
