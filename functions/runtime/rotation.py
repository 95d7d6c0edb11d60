"""Files that somebody else replaces while we run: mounted Secrets and ConfigMaps, projected tokens."""

from __future__ import annotations

from pathlib import Path

Identity = tuple[int, int, int]


def identity(path: Path) -> Identity:
    """What differs once a file was replaced (the kubelet swaps a symlink, which is followed); raises OSError."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


class RotatingFile:
    """A small text file: a replacement is used from the next reading on, the last good text until there is one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[Identity, str] | None = None

    def read(self) -> str:
        """The text without surrounding space; "" while there never was one."""
        known = self._known
        try:
            seen = identity(self._path)
            if (known is None or seen != known[0]) and (text := self._path.read_text(encoding="utf-8").strip()):
                self._known = known = seen, text  # at once, so that threads need no lock
        except (OSError, UnicodeDecodeError):
            pass  # a replacement in progress
        return known[1] if known else ""
