"""The tables brought up to date, by whichever process first needs them; those that start beside it wait."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import insert, select

from functions.history.dialect import Dialect
from functions.history.schema import state

SCRIPTS = Path(__file__).parent / "migrations"


def upgrade(dialect: Dialect) -> None:
    """All or nothing, in one transaction."""
    with dialect.engine.begin() as connection:
        dialect.lock(connection)
        config = Config()
        config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        if connection.execute(select(state.c.id)).first() is None:
            base, horizon = dialect.seed(connection)
            connection.execute(insert(state).values(id=1, base=base, horizon=horizon))
        dialect.repair(connection)
