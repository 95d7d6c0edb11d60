"""The image on a machine that may have no registry: `python -m functions.dev.image [--tag TAG] [--save FILE]`.

`make image` is enough where docker or podman can pull the base image. Here podman works in a storage of its own below
the cache folder, and where nothing can be pulled the base is bootstrapped from Debian packages (mmdebstrap), under the
name that the Dockerfile asks for.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from functions.dev.toolchain import cache_folder
from functions.webapp.errors import WebAppError

ROOT = Path(__file__).resolve().parents[2]
TAG = "dev.local/webapp-operator:dev"
"""Knative never asks a registry about names below dev.local."""

BASE = "python:3.13-slim"
SUITE = "trixie"
PACKAGES = "ca-certificates,python3,python3-venv,python3-pip"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
TRIM = (
    'rm -f "$1"/usr/lib/python3.*/EXTERNALLY-MANAGED; ln -sf python3 "$1"/usr/bin/python; '
    'rm -rf "$1"/usr/share/doc/* "$1"/usr/share/man/* "$1"/usr/share/locale/*; '
    'rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*'
)
CONFIGURATION = """\
[containers]
cgroups = "disabled"
default_ulimits = ["nofile=16384:16384", "nproc=8192:8192"]
[network]
network_backend = "netavark"
[engine]
runtime = "crun"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
"""What a machine without systemd, and a root without CAP_SYS_RESOURCE, can do."""

PRIVATE = ("unshare", "--mount", "--propagation", "private") if os.geteuid() == 0 else ()


class ImageError(WebAppError):
    """The image cannot be built; the message holds what the tool said, or what is missing."""

    error_type = "image"


class Podman:
    """podman with its own storage in `folder`; nothing that it does shows in the machine's own."""

    def __init__(self, folder: Path, environ: Mapping[str, str] = os.environ) -> None:
        if shutil.which("podman") is None:
            raise ImageError("podman is needed: apt-get install podman crun netavark catatonit")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        (folder / "containers.conf").write_text(CONFIGURATION, encoding="utf-8")
        self.environ = {**environ, "CONTAINERS_CONF": str(folder / "containers.conf")}
        self.command = (
            *("podman", "--root", str(folder / "storage"), "--runroot", str(folder / "run")),
            *("--tmpdir", str(folder / "tmp")),
        )

    def __call__(self, *args: str) -> str:
        """Run podman; gives what it printed. Raises ImageError. What it mounts is gone with it."""
        return _run([*PRIVATE, *self.command, *args], self.environ)

    def build(self, tag: str = TAG, arguments: Sequence[str] = ()) -> str:
        """Build the Dockerfile and give the image's id; `arguments` go to `podman build`."""
        self._have_base()
        flags = ["--isolation", "chroot", "--network", "host", "--pull=never", "--quiet", "--layers"]
        if CERTIFICATES.is_file():  # pip trusts what this machine trusts, during the build only
            (self.folder / "pip.conf").write_text(f"[global]\ncert = {CERTIFICATES}\n", encoding="utf-8")
            flags += ["--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro"]
            flags += ["--volume", f"{self.folder / 'pip.conf'}:/etc/pip.conf:ro"]
        return self("build", *flags, *arguments, "--tag", tag, str(ROOT)).strip()

    def save(self, tag: str, archive: Path) -> None:
        """Write the image as a docker archive, which `ctr images import` and `kind load image-archive` read."""
        archive.unlink(missing_ok=True)
        self("save", "--quiet", "--format", "docker-archive", "--output", str(archive), tag)

    def _have_base(self) -> None:
        name = f"localhost/{BASE}"
        if name in self("images", "--format", "{{.Repository}}:{{.Tag}}").split():
            return
        archive = self.folder / "base.tar"
        if not archive.is_file():
            bootstrap(archive)
        self("import", "--quiet", "--change", 'CMD ["python3"]', str(archive), name)


def bootstrap(archive: Path) -> None:
    """Write a root file system with Debian's Python, from the mirror that apt uses."""
    sources = Path("/etc/apt/sources.list.d/debian.sources")
    if shutil.which("mmdebstrap") is None or not sources.is_file():
        raise ImageError("no base image: mmdebstrap is needed on a Debian machine, or a registry to pull from")
    mirror = next(line.split()[1] for line in sources.read_text().splitlines() if line.startswith("URIs:"))
    unfinished = archive.with_name("unfinished.tar")
    flags = ["--quiet", "--variant=minbase", f"--include={PACKAGES}", f"--customize-hook={TRIM}"]
    _run(["mmdebstrap", *flags, SUITE, str(unfinished), mirror], os.environ)
    unfinished.rename(archive)


def _run(command: Sequence[str], environ: Mapping[str, str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    if done.returncode:
        raise ImageError(f"{' '.join(command)}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m functions.dev.image", description="Build the image with podman.")
    parser.add_argument("--tag", default=TAG)
    parser.add_argument("--save", type=Path, metavar="FILE", help="also write a docker archive")
    asked = parser.parse_args(arguments)
    try:
        podman = Podman(cache_folder(os.environ) / "image")
        print(podman.build(asked.tag))
        if asked.save:
            podman.save(asked.tag, asked.save)
    except ImageError as error:
        sys.exit(f"image: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
