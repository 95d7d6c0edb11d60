"""The server that tests run: frozen or not, it never outlives what started it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from functions.dev import postgres as module
from functions.dev.postgres import Postgres
from functions.dev.processes import ProcessError
from tests.process_table import command_lines

PROGRAM = """
import sys
from functions.dev.postgres import Postgres
with Postgres() as server:
    if "freeze" in sys.argv:
        server.freeze()
    print(server.port, server._group.folder, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["run", "freeze"])
def test_a_server_ends_with_a_killed_parent(how):
    with subprocess.Popen([sys.executable, "-c", PROGRAM, how], stdin=-1, stdout=-1) as parent:
        assert parent.stdout is not None
        port, folder = parent.stdout.readline().decode().split()
        parent.kill()
    deadline = time.monotonic() + 20
    while any(folder in line for line in command_lines()) or stopped():
        assert time.monotonic() < deadline, port
        time.sleep(0.05)


def stopped():
    """Processes of PostgreSQL that are stopped."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if "postgres:" in (folder / "cmdline").read_text(errors="replace"):
                found += re.findall(r"State:\tT", (folder / "status").read_text())
    return found


def test_each_database_is_new_and_empty(postgres):
    urls = [postgres.database(), postgres.database()]
    with psycopg.connect(urls[0]) as one, psycopg.connect(urls[1]) as other:
        one.execute("CREATE TABLE here (x int)")
        one.commit()
        assert other.execute("SELECT to_regclass('here')").fetchone() == (None,)


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_INSTALLED", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProcessError, match="apt-get install postgresql"), Postgres():
        pass
