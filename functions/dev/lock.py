"""`make lock`: pin the newest packages that fit pyproject.toml, with hashes, one file for each set of extras.

The files name no registry: `uv.lock` would.
"""

from __future__ import annotations

import subprocess
import sys

SETS = {"base": [], "cli": ["--extra", "cli"], "dev": ["--extra", "cli", "--group", "dev"]}


def main() -> None:
    """Write requirements/*.txt; uv must be on the PATH."""
    for name, extras in SETS.items():
        command = ["uv", "pip", "compile", "--quiet", "--upgrade", "--generate-hashes", *extras, "pyproject.toml"]
        try:
            subprocess.run([*command, "--output-file", f"requirements/{name}.txt"], check=True)
        except FileNotFoundError:
            sys.exit("make lock: uv is needed; install it with `pip install uv`")


if __name__ == "__main__":
    main()
