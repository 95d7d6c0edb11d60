"""The recorder's environment as one frozen object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from functions.history import settings
from functions.history.settings import Database
from functions.runtime.listening import Address
from functions.runtime.senders import Expected
from functions.runtime.settings import SettingsError, integer, read, seconds
from functions.webapp.resources import DEFAULT_GROUP


@dataclass(frozen=True)
class Settings:
    """Read once at start. `queue` events may wait at a time; the other threads refuse events and answer probes."""

    at: Address
    database: Database
    history_group: str
    group: str = DEFAULT_GROUP
    threads: int = 64
    queue: int = 48
    keep_runs: int = 100
    keep_days: int = 30
    prune_seconds: float = 600.0
    senders: Expected | None = None

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> Self:
        """Raises SettingsError, which names the variable, its value and what would be right."""
        found = cls(
            at=Address.load(environ, 8080),
            database=Database.load(environ),
            history_group=settings.group(environ),
            group=read(environ, "WEBAPP_API_GROUP", str, cls.group),
            threads=(threads := read(environ, "HISTORY_THREADS", integer(2, 512), cls.threads)),
            queue=read(environ, "HISTORY_QUEUE", integer(1, 511), max(1, threads * 3 // 4)),
            keep_runs=read(environ, "HISTORY_KEEP_RUNS", integer(1, 1_000_000), cls.keep_runs),
            keep_days=read(environ, "HISTORY_KEEP_DAYS", integer(1, 36_500), cls.keep_days),
            prune_seconds=read(environ, "HISTORY_PRUNE_SECONDS", seconds(1, 86_400), cls.prune_seconds),
            senders=Expected.load(environ),
        )
        if found.queue >= found.threads:
            raise SettingsError(
                f"HISTORY_QUEUE={found.queue}: must be below HISTORY_THREADS={found.threads}, so that probes are "
                "answered while the database is slow"
            )
        return found

    @property
    def age(self) -> timedelta:
        """Older runs go."""
        return timedelta(days=self.keep_days)

    @property
    def patience(self) -> float:
        """Seconds that an event may wait: for the transaction under way, and for its own."""
        database = self.database
        return 2 * (2 * database.connect_seconds + database.statement_seconds + 1)
