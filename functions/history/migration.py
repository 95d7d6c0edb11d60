"""The tables brought up to date, by whichever process first needs them; those that start beside it wait."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, insert, select, update

from functions.history.dialect import Dialect
from functions.history.schema import reconciles, state

SCRIPTS = Path(__file__).parent / "migrations"
VERSION_TABLE = "history_version"


def upgrade(dialect: Dialect) -> None:
    """All or nothing, in one transaction; where everything is as it should be, nothing is locked or written."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    with dialect.readers.begin() as connection:
        if _is_current(connection, config) and not _shortfall(connection, dialect):
            return
    with dialect.engine.begin() as connection:
        dialect.lock(connection)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        if connection.execute(select(state.c.id)).first() is None:
            connection.execute(insert(state).values(id=1, base=dialect.seed(), horizon=0))
            connection.execute(update(state).values(horizon=dialect.next(connection) - 1))
        if shortfall := _shortfall(connection, dialect):
            connection.execute(update(state).values(base=state.c.base + shortfall, horizon=_newest(connection)))


def _is_current(connection: Connection, config: Config) -> bool:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_heads() == tuple(ScriptDirectory.from_config(config).get_heads())


def _shortfall(connection: Connection, dialect: Dialect) -> int:
    """How far the versions to come are below those that are there; only where the database was restored elsewhere."""
    return max(0, _newest(connection) + 1 - dialect.next(connection))


def _newest(connection: Connection) -> int:
    newest = select(func.max(reconciles.c.version), func.max(reconciles.c.deleted_version))
    return max((version for version in connection.execute(newest).one() if version is not None), default=0)
