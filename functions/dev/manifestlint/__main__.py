"""`python -m functions.dev.manifestlint FILE...` (or `-`): say what Knative's webhooks would refuse; exit code 1 if so.

kubectl kustomize knative | python -m functions.dev.manifestlint -
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from functions.dev.manifestlint import complaints


def main(arguments: Sequence[str]) -> int:
    """Read all files, print the faults."""
    if not arguments:
        print(f"usage: {__doc__}", file=sys.stderr)
        return 2
    texts = [sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8") for name in arguments]
    faults = complaints(document for text in texts for document in yaml.safe_load_all(text) if document)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
