"""Processes end with the context that started them, and with the process that did."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from functions.dev.processes import ProcessError, ProcessGroup
from tests.process_table import group_is_gone

HOLD = """
import signal, sys
from functions.dev.processes import ProcessGroup
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background has it ignored
with ProcessGroup(grace=0.3) as group:
    folder = str(group.folder)
    group.start("meek", [sys.executable, "-c", "import signal; signal.pause()", folder])
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); signal.pause()"
    process = group.start("stubborn", [sys.executable, "-c", stubborn, folder])
    process.wait_until(lambda: "deaf" in process.tail())
    print(folder, flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_the_parent(number):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as holder:
        assert holder.stdout
        folder = Path(holder.stdout.readline().strip())
        assert folder.is_dir()
        holder.send_signal(number)
        holder.wait()
    assert group_is_gone(folder)


def test_process_that_ends_instead_of_becoming_ready_shows_its_last_words():
    with ProcessGroup() as group, pytest.raises(ProcessError, match=r"doomed ended with code 3; .*\nno such flag"):
        group.start("doomed", ["/bin/sh", "-c", "echo no such flag; exit 3"]).wait_until(lambda: False)


def test_process_that_stays_silent_is_given_up():
    with ProcessGroup() as group, pytest.raises(ProcessError, match=r"silent is not ready after 0\.1 s"):
        group.start("silent", ["/bin/sleep", "60"]).wait_until(lambda: False, seconds=0.1)


def test_name_of_a_running_process_is_not_given_twice():
    with ProcessGroup() as group:
        first = group.start("one", ["/bin/sleep", "60"])
        with pytest.raises(ProcessError, match="one is running already"):
            group.start("one", ["/bin/sleep", "60"])
        first.stop()
        assert first.returncode == -signal.SIGTERM
        group.start("one", ["/bin/sleep", "60"])
        assert group["one"].pid != first.pid


def test_program_that_is_not_there_leaves_nothing_behind():
    with pytest.raises(FileNotFoundError), ProcessGroup() as group:
        group.start("missing", ["/nowhere/program"])
    assert not group.folder.exists()
