"""Where the history is kept, and how it is called: what the recorder and the API server have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from functions.history.record import DEFAULT_GROUP
from functions.runtime.settings import SettingsError, integer, read, seconds

DEFAULT_URL = "sqlite:////var/lib/webapp/history.db"
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


@dataclass(frozen=True)
class Database:
    """How it is reached. `password` is a file that is read at each connect, so that it may change."""

    url: URL
    password: Path | None = None
    pool_size: int = 5
    connect_seconds: float = 2.0
    statement_seconds: float = 5.0

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> Self:
        """Raises SettingsError; what it says never holds a password."""
        none: Path | None = None
        found = cls(
            url=_url(environ.get("HISTORY_DATABASE_URL", "").strip() or DEFAULT_URL),
            password=read(environ, "HISTORY_DATABASE_PASSWORD_FILE", Path, none),
            pool_size=read(environ, "HISTORY_POOL_SIZE", integer(1, 100), cls.pool_size),
            connect_seconds=read(environ, "HISTORY_CONNECT_SECONDS", seconds(2, 30), cls.connect_seconds),
            statement_seconds=read(environ, "HISTORY_STATEMENT_SECONDS", seconds(0.1, 60), cls.statement_seconds),
        )
        if found.password is not None:
            if found.is_sqlite:
                raise SettingsError("HISTORY_DATABASE_PASSWORD_FILE: SQLite has no password; leave it unset")
            if found.url.password:
                raise SettingsError(
                    "HISTORY_DATABASE_PASSWORD_FILE: the URL holds a password too; leave one of them out"
                )
            found.secret()
        return found

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file; else it is PostgreSQL."""
        return self.url.get_backend_name() == "sqlite"

    def secret(self) -> dict[str, str]:
        """The password as a connect option, where it comes from a file. Raises SettingsError."""
        if self.password is None:
            return {}
        name = f"HISTORY_DATABASE_PASSWORD_FILE={str(self.password)!r}"
        try:
            found = self.password.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise SettingsError(f"{name}: {error.strerror}; mount the file that holds the password") from None
        except UnicodeDecodeError:
            raise SettingsError(f"{name}: holds no text; it must hold the password alone, in UTF-8") from None
        if not found:
            raise SettingsError(f"{name}: is empty; it must hold the password alone")
        return {"password": found}


def group(environ: Mapping[str, str]) -> str:
    """The API group in which the history is served."""
    return read(environ, "HISTORY_API_GROUP", _group, DEFAULT_GROUP)


def _group(text: str) -> str:
    if not (len(text) <= 253 and "." in text and _SUBDOMAIN.fullmatch(text)):
        raise ValueError(f"must be an API group such as {DEFAULT_GROUP}")
    return text


def _url(spelled: str) -> URL:
    try:
        url = make_url(spelled)
        driver = _DRIVERS[url.drivername]
    except (ArgumentError, ValueError, KeyError):
        raise SettingsError(
            f"HISTORY_DATABASE_URL: must be such as {DEFAULT_URL} or postgresql://user@host:5432/history"
        ) from None
    if url.get_backend_name() == "sqlite" and url.database in {None, "", ":memory:"}:
        raise SettingsError(f"HISTORY_DATABASE_URL: names no file; SQLite needs one, such as {DEFAULT_URL}")
    if url.get_backend_name() == "postgresql" and not (url.host or "host" in url.query):
        raise SettingsError("HISTORY_DATABASE_URL: names no host, such as postgresql://user@host:5432/history")
    return url.set(drivername=driver)
