"""Local processes: started with a log file, awaited until ready, and ended whatever happens to this process."""

import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from functions.dev import warden
from functions.webapp.errors import WebAppError

LOOPBACK = "127.0.0.1"
POLL_SECONDS = 0.03
LOG_LINES = 15
KILL_SECONDS = 10.0
"""A killed process may need a while to let go of its memory on a busy machine."""


class ProcessError(WebAppError):
    """A process ended or stayed silent instead of becoming ready; the message holds the last lines of its log."""

    error_type = "process"


def free_port() -> int:
    """A loopback TCP port nobody listens on, below the kernel's ephemeral range.

    A client that keeps dialling a stopped server on an ephemeral port can be given that very port as its own, and then
    blocks it.
    """
    for port in random.sample(range(20000, 32000), 200):
        if is_free(port):
            return port
    raise ProcessError(f"no free port on {LOOPBACK} between 20000 and 32000: stop what listens there")


def is_free(port: int) -> bool:
    """Whether nobody listens on this loopback TCP port."""
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


class Process:
    """One running program and its log."""

    def __init__(self, name: str, popen: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.log = log
        self._popen = popen

    @property
    def pid(self) -> int:
        """The process id."""
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs, then its exit code; -N when signal N ended it."""
        return self._popen.poll()

    def tail(self) -> str:
        """The last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_LINES:])

    def wait(self, seconds: float) -> int | None:
        """The `returncode` as soon as there is one, None after `seconds` without."""
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(seconds)
        return self.returncode

    def wait_until(self, ready: Callable[[], bool], seconds: float = 30.0) -> None:
        """Return once `ready()` holds. Raises ProcessError when the process ends first, or after `seconds`."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self.returncode is not None:
                raise ProcessError(f"{self.name} ended with code {self.returncode}; its last words:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise ProcessError(f"{self.name} is not ready after {seconds:g} s; its last words:\n{self.tail()}")
            time.sleep(POLL_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal (SIGSTOP makes a hung process, SIGKILL a dead one); nothing happens once it has ended."""
        self._popen.send_signal(number)

    def stop(self, grace: float = 5.0) -> None:
        """SIGTERM, then SIGKILL after `grace` seconds."""
        self._popen.terminate()
        if self.wait(grace) is None:
            self._popen.kill()
            self._popen.wait()


class ProcessGroup:
    """A context in which processes run; none of them outlives it or this process, nor does the temporary `folder`.

    At the end all get SIGTERM at once, and SIGKILL after `grace` seconds.
    """

    def __init__(self, grace: float = 5.0) -> None:
        self._grace = grace
        self._running: dict[str, Process] = {}

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="webapp-"))
        argv = [sys.executable, "-I", "-S", warden.__file__, str(self.folder)]
        self._warden = subprocess.Popen(argv, stdin=subprocess.PIPE, process_group=0)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            deadline = time.monotonic() + self._grace
            for process in self._running.values():
                process.signal(signal.SIGTERM)
            for process in self._running.values():
                process.wait(max(0.0, deadline - time.monotonic()))
        finally:
            self._warden.communicate()  # ends its input: whatever is left in the group is killed
            for process in self._running.values():
                process.wait(KILL_SECONDS)
            shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name: str, command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Process:
        """Start `command`, its output appended to `<folder>/<name>.log`; a process of that name must not be running."""
        if name in self._running and self._running[name].returncode is None:
            raise ProcessError(f"{name} is running already: stop it first")
        log = self.folder / f"{name}.log"
        with log.open("ab") as output:
            popen = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                process_group=self._warden.pid,
            )
        self._running[name] = Process(name, popen, log)
        return self._running[name]

    def __getitem__(self, name: str) -> Process:
        return self._running[name]
