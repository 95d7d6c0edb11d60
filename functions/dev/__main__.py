"""`python -m functions.dev [all]`: have the control plane, or everything that tests start, building what is missing."""

from __future__ import annotations

import sys

from functions.dev import components
from functions.dev.build import ToolchainError
from functions.dev.toolchain import PARTS, Toolchain


def main(everything: bool) -> None:  # noqa: FBT001 - the one argument
    """Build one part after the other, each with its progress; exit with the cures where one cannot be had."""
    names = [name for part in PARTS for name in part.contents] if everything else components.PROGRAMS
    try:
        toolchain = Toolchain.from_environment()
        found = [toolchain.find(name) for name in names]
    except ToolchainError as error:
        sys.exit(f"webapp: {error}")
    print(f"{len(found)} programs are ready, {found[0].name} at {found[0]}")


if __name__ == "__main__":
    main(everything="all" in sys.argv[1:])
