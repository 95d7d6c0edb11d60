"""The tables brought up to date, by whichever process first needs them; those that start beside it wait."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, String, column, func, insert, inspect, select, table, update

from functions.history.dialect import Dialect
from functions.history.schema import reconciles, state

SCRIPTS = Path(__file__).parent / "migrations"
HEAD = 1
"""The newest of them; known here so that a process that finds it need not import Alembic, a fifth of its start."""

VERSION_TABLE = "history_version"


def upgrade(dialect: Dialect) -> None:
    """All or nothing, in one transaction; where everything is as it should be, nothing is locked or written."""
    with dialect.readers.begin() as connection:
        if _is_current(connection) and not _shortfall(connection, dialect):
            return
    with dialect.engine.begin() as connection:
        dialect.lock(connection)
        _run_scripts(connection)
        if connection.execute(select(state.c.id)).first() is None:
            connection.execute(insert(state).values(id=1, base=dialect.seed(), horizon=0))
            connection.execute(update(state).values(horizon=dialect.next(connection) - 1))
        if shortfall := _shortfall(connection, dialect):
            connection.execute(update(state).values(base=state.c.base + shortfall, horizon=_newest(connection)))


def _is_current(connection: Connection) -> bool:
    """A later release may have been here: what it changes must still serve this one, while both run."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return False
    found = connection.execute(select(column("version_num", String)).select_from(table(VERSION_TABLE))).scalar()
    return found is not None and int(found.removeprefix("v")) >= HEAD


def _run_scripts(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - see HEAD
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, f"v{HEAD}")


def _shortfall(connection: Connection, dialect: Dialect) -> int:
    """How far the versions to come are below those that are there; only where the database was restored elsewhere."""
    return max(0, _newest(connection) + 1 - dialect.next(connection))


def _newest(connection: Connection) -> int:
    newest = [
        select(func.max(column)).scalar_subquery() for column in (reconciles.c.version, reconciles.c.deleted_version)
    ]
    return max((version for version in connection.execute(select(*newest)).one() if version is not None), default=0)
