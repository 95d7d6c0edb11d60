"""What runs on this machine, read from /proc."""

import time
from contextlib import suppress
from pathlib import Path


def group_is_gone(folder: Path, seconds: float = 10.0) -> bool:
    """Whether, within `seconds`, no process names `folder` on its command line any more and the folder is removed."""
    deadline = time.monotonic() + seconds
    while folder.exists() or any(str(folder) in line for line in command_lines()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def command_lines() -> list[str]:
    """The command lines of all processes; a zombie has none."""
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(entry.read_text(errors="replace"))
    return lines
