"""What Alembic runs for each command: on the connection that it was handed, in a transaction that is open already."""

from __future__ import annotations

from alembic import context

from functions.history.migration import VERSION_TABLE
from functions.history.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
