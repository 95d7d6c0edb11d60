"""PostgreSQL on this machine for tests and benchmarks: started, stopped, killed, frozen at will, and gone afterwards.

The server refuses to run as root; where this process is root it runs as `nobody`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import psycopg
from psycopg import sql

from functions.dev.process_tree import signal_all
from functions.dev.processes import LOOPBACK, ProcessError, ProcessGroup, free_port

USER = "webapp"
_INSTALLED = Path("/usr/lib/postgresql")
_UNPRIVILEGED = 65534
_GUARD = """
import os, sys
sys.stdin.read()
for pid in sys.argv[1:]:
    try:
        os.kill(int(pid), 9)
    except ProcessLookupError:
        pass
"""
"""Ends frozen processes when this one is killed: stopped, and in sessions of their own, they would never hear of it."""

_FAST = ("fsync=off", "full_page_writes=off", "shared_buffers=64MB", "autovacuum_naptime=10s")


class Postgres:
    """A context in which a server of its own runs on a loopback port; its data are thrown away at the end.

    `options` are settings such as `max_connections=20`; without fsync, as here by default, nothing is lost unless the
    machine itself fails. Raises ProcessError where PostgreSQL is not installed.
    """

    def __init__(self, options: Sequence[str] = _FAST) -> None:
        self._options = options
        self._group = ProcessGroup(grace=1.0)
        self._frozen: list[int] = []
        self._guards: list[subprocess.Popen[bytes]] = []
        self.password = secrets.token_urlsafe(12)
        self.port = 0

    def __enter__(self) -> Self:
        self._initdb, self._server = _program("initdb"), _program("postgres")
        self._group.__enter__()
        try:
            self._group.folder.chmod(0o711)
            self._home = self._group.folder / "postgres"
            self._home.mkdir()
            word = self._home / "password"
            word.write_text(self.password, encoding="utf-8")
            if os.getuid() == 0:
                for path in (self._home, word):
                    os.chown(path, _UNPRIVILEGED, _UNPRIVILEGED)
            self._make(word)
            self.port = free_port()
            self.start()
        except BaseException:
            self._group.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.thaw()
        with suppress(ProcessError):
            self.kill()
        self._group.__exit__()

    def url(self, database: str = "postgres") -> str:
        """How a database of this server is reached, password included."""
        return f"postgresql://{USER}:{self.password}@{LOOPBACK}:{self.port}/{database}"

    def database(self) -> str:
        """The URL of a new and empty database."""
        name = f"history_{secrets.token_hex(4)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        return self.url(name)

    def start(self) -> None:
        """Start the server, after a crash as well, and wait until it answers."""
        settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", f"port={self.port}", *self._options]
        command = [self._server, "-D", str(self._home / "data"), *(word for each in settings for word in ("-c", each))]
        self._process = self._group.start("postgres", [*_as_somebody(), *command], _environment())
        self._process.wait_until(self._answers)

    def stop(self) -> None:
        """Shut it down; clients are disconnected."""
        self._process.signal(signal.SIGINT)
        self._ended()

    def kill(self) -> None:
        """SIGKILL to the server and to all that it started: a crash."""
        signal_all(self._process.pid, signal.SIGKILL)
        self._ended()

    def freeze(self) -> None:
        """Nothing answers any more, and no connection is closed, until `thaw`."""
        self._frozen = signal_all(self._process.pid, signal.SIGSTOP)
        command = [sys.executable, "-I", "-S", "-c", _GUARD, *map(str, self._frozen)]
        self._guards.append(subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0))

    def thaw(self) -> None:
        """Go on."""
        for pid in self._frozen:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._frozen = []
        for guard in self._guards:
            guard.kill()
            guard.communicate()
        self._guards = []

    def _make(self, word: Path) -> None:
        command = [self._initdb, "-D", str(self._home / "data"), "-U", USER, f"--pwfile={word}", "-A", "scram-sha-256"]
        made = subprocess.run(
            [*_as_somebody(), *command, "-E", "UTF8", "--locale=C", "--no-sync"],
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise ProcessError(f"initdb ended with code {made.returncode}: {made.stderr.strip()[-500:]}")

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _ended(self) -> None:
        if self._process.wait(10.0) is None:
            raise ProcessError("postgres did not end within 10 s")


def _program(name: str) -> str:
    """The newest one that Debian installed, or the one on the PATH."""
    versions = sorted(_INSTALLED.glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    if found := str(versions[-1]) if versions else shutil.which(name):
        return found
    raise ProcessError(f"{name} is not installed: PostgreSQL is missing (Debian: apt-get install postgresql)")


def _as_somebody() -> list[str]:
    if os.getuid() != 0:
        return []
    return ["setpriv", f"--reuid={_UNPRIVILEGED}", f"--regid={_UNPRIVILEGED}", "--clear-groups", "--"]


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
