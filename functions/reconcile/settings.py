"""The reconcile function's environment as one frozen object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from functions.runtime.listening import Address
from functions.runtime.senders import Expected
from functions.runtime.settings import integer, names, read, seconds
from functions.webapp.resources import DEFAULT_GROUP


@dataclass(frozen=True)
class Settings:
    """Read once at start; the defaults fit the shipped Knative Service."""

    at: Address
    group: str = DEFAULT_GROUP
    namespaces: tuple[str, ...] = ()
    threads: int = 8
    deadline_seconds: float = 20.0
    body_limit: int = 256 * 1024
    senders: Expected | None = None
    revision: str = ""

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> Settings:
        """Raises SettingsError, which names the variable, its value and what would be right."""
        return cls(
            at=Address.load(environ, 8080),
            group=read(environ, "WEBAPP_API_GROUP", str, cls.group),
            namespaces=read(environ, "WEBAPP_NAMESPACES", names, cls.namespaces),
            threads=read(environ, "RECONCILE_THREADS", integer(1, 256), cls.threads),
            deadline_seconds=read(environ, "RECONCILE_DEADLINE_SECONDS", seconds(1, 600), cls.deadline_seconds),
            senders=Expected.load(environ),
            revision=environ.get("K_REVISION", ""),
        )
