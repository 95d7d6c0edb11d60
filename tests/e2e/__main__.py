"""`python -m tests.e2e [WALK...]`: the whole product on a cluster with Knative, reached by KUBECONFIG.

Walks: direct, broker, apiserversource (these two need Knative Eventing), or image, which needs podman and no cluster.
Without names: direct. The cluster must have the images; `--load` loads ours:

    python -m tests.e2e --load 'kind load image-archive {}'
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from functions.dev.image import TAG, Podman
from functions.dev.toolchain import cache_folder

FOLDER = Path(__file__).parent
WALKS = sorted(path.stem.removeprefix("walk_") for path in FOLDER.glob("walk_*.py"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Build and load the image, then run the walks in order; gives pytest's exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("walks", nargs="*", metavar="WALK", choices=[*WALKS, []])
    parser.add_argument("--load", metavar="COMMAND", help="build the image and load it; {} is its docker archive")
    parser.add_argument("--image", default=TAG, help="image to deploy (%(default)s)")
    parser.add_argument("--sample", default="", help="image of the WebApps, a server on port 8080; ours if not given")
    parser.add_argument(
        "--jaeger", default="", metavar="HOST", help="a Jaeger: HOST:4318 from pods, HOST:16686 from here"
    )
    asked = parser.parse_args(arguments)
    if asked.load:
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "image.tar")
            podman = Podman(cache_folder(os.environ) / "image")
            podman.build(asked.image)
            podman.save(asked.image, archive)
            subprocess.run(shlex.split(asked.load.replace("{}", shlex.quote(str(archive)))), check=True)
    os.environ |= {"E2E_IMAGE": asked.image, "E2E_SAMPLE": asked.sample or asked.image, "E2E_JAEGER": asked.jaeger}
    files = [str(FOLDER / f"walk_{walk}.py") for walk in asked.walks or ["direct"]]
    return int(
        pytest.main(
            ["-v", "-s", "-x", "-p", "no:cacheprovider", "--timeout=400", "-o", "python_files=walk_*.py", *files]
        )
    )


if __name__ == "__main__":
    sys.exit(main())
