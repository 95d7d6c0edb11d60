"""The peers' programs, built once from pinned Go modules and packages into the cache of the control plane's parts."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from functions.dev import build
from functions.dev.build import Part
from functions.dev.toolchain import Toolchain

SOURCES = Path(__file__).parent
KOPF_TWIN = SOURCES / "kopf" / "webapp_kopf.py"
_GO_TWIN = Part(
    name="controller-runtime",
    module="peers/controller-runtime",
    files={"controller-runtime": "controller-runtime"},
    minutes=3,
)
_ADAPTER = Part(
    name="apiserversource",
    module="knative.dev/eventing",
    files={"apiserver_receive_adapter": "apiserver_receive_adapter"},
    minutes=3,
)


def go_twin() -> Path:
    """The controller-runtime twin."""
    return built(_GO_TWIN, SOURCES / "controller-runtime") / "controller-runtime"


def adapter() -> Path:
    """The receive adapter of Knative's ApiServerSource."""
    return built(_ADAPTER, SOURCES / "apiserversource") / "apiserver_receive_adapter"


def kopf() -> Path:
    """kopf's command in a virtual environment of its own, so that it holds nothing but what kopf needs."""
    source = SOURCES / "kopf"
    folder = _cache() / "kopf" / _digest(source / "requirements.txt")
    if not folder.is_dir():
        unfinished = folder.with_name("unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        venv.create(unfinished, with_pip=True, symlinks=True)
        install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
            "--requirement",
        ]
        subprocess.run([unfinished / "bin" / "python", *install, source / "requirements.txt"], check=True)
        unfinished.rename(folder)
    return folder / "bin" / "python"


def _cache() -> Path:
    return Toolchain.from_environment().cache.with_name("peers")


def built(part: Part, source: Path) -> Path:
    """The folder with the programs of a Go module, which is built there once for what its files say."""
    folder = _cache() / part.name / _digest(*sorted(path for path in source.rglob("*") if path.is_file()))
    if not folder.is_dir():
        build.build(part, source, folder)
    return folder


def _digest(*files: Path) -> str:
    """A name for what these files say on this kind of machine."""
    texts = [path.read_bytes() for path in files]
    return hashlib.sha256(b"\0".join([*texts, platform.machine().encode(), sys.version.encode()])).hexdigest()[:12]
