"""The first tables."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, SmallInteger, String, Text

revision = "v1"
down_revision = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "reconciles",
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
    )
    op.create_index("reconciles_by_name", "reconciles", ["namespace", "name"], unique=True)
    op.create_index("reconciles_by_start", "reconciles", ["started", "uid"])
    op.create_index("reconciles_by_namespace", "reconciles", ["namespace", "started", "uid"])
    op.create_index("reconciles_by_webapp", "reconciles", ["namespace", "webapp", "started", "uid"])
    op.create_index("reconciles_by_version", "reconciles", ["version"], unique=True)
    op.create_index("reconciles_by_deletion", "reconciles", ["deleted_version"])
    op.create_table(
        "history_state",
        Column("id", SmallInteger, primary_key=True, autoincrement=False),
        Column("base", BigInteger, nullable=False),
        Column("horizon", BigInteger, nullable=False),
    )
