"""The process that outlives a killed parent just long enough to end what the parent started.

Run as a script, `python -I warden.py FOLDER`, it leads a process group into which the parent puts every process it
starts. Standard input is a pipe that only the parent holds: when it ends, the parent is gone, however it went (kill -9
included), and the whole group is killed and FOLDER removed. Unlike PR_SET_PDEATHSIG, a pipe belongs to the process, not
to the thread that happened to fork.
"""

import os
import shutil
import signal
import sys
from contextlib import suppress


def main(folder: str) -> None:
    """Wait for the parent's end, then kill this process's group and remove `folder`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    group = os.getpgrp()
    if os.fork() == 0:  # a child outside the group is what is left to remove the folder
        os.setpgid(0, 0)
        with suppress(ProcessLookupError):  # all of them, this process's parent included, have ended by themselves
            os.killpg(group, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
