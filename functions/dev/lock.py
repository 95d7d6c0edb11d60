"""`make lock`: pin the newest packages that fit pyproject.toml, with hashes, one file for each set of extras.

The files name no registry: `uv.lock` would. `image` is what the container image installs, `build` what builds it.
"""

from __future__ import annotations

import subprocess
import sys

PROJECT = "pyproject.toml"
BUILD = "hatchling>=1.27\n"
"""What `build` pins, read from standard input."""

SETS = {
    "base": [PROJECT],
    "cli": ["--extra", "cli", "--extra", "history", PROJECT],
    "dev": ["--extra", "cli", "--extra", "history", "--group", "dev", PROJECT],
    "image": ["--extra", "history", "--override", "requirements/image.in", PROJECT],
    "build": ["--python-version", "3.11", "-"],
}


def main() -> None:
    """Write requirements/*.txt; uv must be on the PATH."""
    for name, what in SETS.items():
        command = ["uv", "pip", "compile", "--quiet", "--upgrade", "--generate-hashes", *what]
        command += ["--output-file", f"requirements/{name}.txt"]
        try:
            subprocess.run(command, input=BUILD, text=True, check=True)
        except FileNotFoundError:
            sys.exit("make lock: uv is needed; install it with `pip install uv`")


if __name__ == "__main__":
    main()
