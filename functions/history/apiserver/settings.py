"""The environment of the history's API server as one frozen object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from functions.history.settings import Database, group
from functions.runtime.settings import SettingsError, integer, read
from functions.runtime.tls import Profile

SPARE_THREADS = 16
"""For gets, lists and discovery while every watch that is allowed runs."""


@dataclass(frozen=True)
class Settings:
    """`watches` may run at once in one process; each takes a thread of the profile's."""

    database: Database
    group: str
    profile: Profile
    watches: int = 100

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> Self:
        """Raises SettingsError."""
        watches = read(environ, "HISTORY_WATCHES", integer(1, 240), cls.watches)
        needed = watches + SPARE_THREADS
        profile = Profile.load({**environ, "SERVER_THREADS": environ.get("SERVER_THREADS") or str(needed)})
        if profile.threads < needed:
            raise SettingsError(
                f"SERVER_THREADS={profile.threads}: must be at least {needed}, which is HISTORY_WATCHES and "
                f"{SPARE_THREADS} to spare; raise it or lower them"
            )
        return cls(Database.load(environ), group(environ), profile, watches)
