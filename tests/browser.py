"""A headless Chromium that opens a page of ours and tells what it became, or takes its picture."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb")


def dom(page: Path, fragment: str = "") -> str:
    """The page's HTML once its script has run."""
    return _run("--dump-dom", f"{page.as_uri()}{fragment}")


def picture(page: Path, file: Path, *, width: int, height: int, fragment: str = "") -> None:
    """Write a PNG of the page."""
    _run(f"--window-size={width},{height}", f"--screenshot={file}", f"{page.as_uri()}{fragment}")


def _run(*arguments: str) -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise FileNotFoundError(f"none of {', '.join(NAMES)} is on PATH: install Chromium (Debian: chromium)")
    with TemporaryDirectory() as profile:
        command = [found, *_FLAGS, f"--user-data-dir={profile}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout
