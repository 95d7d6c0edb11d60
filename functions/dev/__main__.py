"""`python -m functions.dev`: have every program of the control plane, building what is not there yet."""

from __future__ import annotations

import sys

from functions.dev import components
from functions.dev.build import ToolchainError
from functions.dev.toolchain import Toolchain


def main() -> None:
    """Print where each program is; exit with the cures where one cannot be had."""
    try:
        toolchain = Toolchain.from_environment()
        found = [toolchain.find(name) for name in components.PROGRAMS]
    except ToolchainError as error:
        sys.exit(f"webapp: {error}")
    print(f"control plane: {len(found)} parts in {', '.join(sorted({str(each.parent.parent) for each in found}))}")


if __name__ == "__main__":
    main()
