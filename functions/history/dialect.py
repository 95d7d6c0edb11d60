"""What the two databases do differently, and nothing else.

A *version* orders all changes. Readers may see those below a *bound*, which never passes a change that is still to be
committed: otherwise a watcher who was told of version 8 would never learn of a 7 that came later.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection, Engine, Executable


class Dialect(Protocol):
    """One database and its connections; used from many threads."""

    @property
    def engine(self) -> Engine:
        """Its connections; `begin` starts a transaction that writes."""
        ...

    @property
    def readers(self) -> Engine:
        """The same connections; `begin` starts a transaction that sees one state throughout."""
        ...

    def patience(self) -> AbstractContextManager[None]:
        """Inside, a database that does not answer is given up after a while (OperationalError)."""
        ...

    def lock(self, connection: Connection) -> None:
        """Wait until no other process changes tables; until the end of the transaction."""
        ...

    def is_alone(self, connection: Connection) -> bool:
        """Whether no other process tidies up now; until the end of the transaction."""
        ...

    def seed(self) -> int:
        """`base` of a history that begins now."""
        ...

    def next(self, connection: Connection) -> int:
        """No version to come is below it, as far as this transaction knows."""
        ...

    def take(self, connection: Connection, count: int) -> int:
        """The first of `count` versions in a row, for this transaction alone."""
        ...

    def bound(self, connection: Connection) -> int:
        """All changes below it are committed, and in this transaction's view, or never will be."""
        ...

    def insert(self) -> Executable:
        """Inserts those rows whose uid is not there yet, and returns the uids of these."""
        ...
