"""A container of the image under podman: read-only root, no capabilities, a memory limit, the machine's loopback.

It runs in mount, cgroup and process namespaces of its own, which end with the context and take everything along.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from functions.dev.image import Podman

NAMESPACES = ("unshare", "-m", "-C", "-i", "-p", "-f", "--kill-child", "--mount-proc", "--propagation", "private")
CGROUPS = """set -e
umount -l /sys/fs/cgroup; mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
for c in cpu cpuacct cpuset memory devices freezer blkio pids; do
  mkdir /sys/fs/cgroup/$c; mount -t cgroup -o $c cgroup /sys/fs/cgroup/$c
done
mkdir /sys/fs/cgroup/systemd; mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
"$@" > /dev/null
echo started
set +e
while read -r command; do eval "$command"; echo "= $?"; done
"""
"""Version 1 hierarchies whose root is where we are: what podman makes stays below."""

SECURITY = ("--read-only", "--tmpfs", "/tmp:size=16m", "--cap-drop", "all", "--security-opt", "no-new-privileges")


class Container:
    """A context in which one container runs under the name `app`."""

    def __init__(
        self, podman: Podman, image: str, memory: str, environ: Mapping[str, str], mounts: Mapping[Path, str]
    ) -> None:
        self._podman = podman
        flags = [
            "--name",
            "app",
            "--replace",
            "--network",
            "host",
            "--cgroups",
            "enabled",
            "--memory",
            memory,
            *SECURITY,
        ]
        flags += [f"--env={name}={value}" for name, value in environ.items()]
        flags += [f"--volume={source}:{target}:ro" for source, target in mounts.items()]
        self._command = [*podman.command, "run", "--detach", *flags, image]

    def __enter__(self) -> Self:
        argv = [*NAMESPACES, "bash", "-c", CGROUPS, "bash", *self._command]
        self._shell = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self._podman.environ
        )
        assert self._line() == "started"
        return self

    def __exit__(self, *_: object) -> None:
        with self._shell:
            if self._shell.poll() is None:
                self.podman("rm --force --time 0 app")

    def podman(self, command: str) -> str:
        """Run a podman command beside the container and give what it printed."""
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"{' '.join(self._podman.command)} {command} 2>&1\n")
        self._shell.stdin.flush()
        lines = []
        while not (line := self._line()).startswith("= "):
            lines.append(line)
        assert line == "= 0", "\n".join(lines)
        return "\n".join(lines)

    def run(self, command: str) -> str:
        """Run a command in the container."""
        return self.podman(f"exec app {command}")

    def _line(self) -> str:
        assert self._shell.stdout is not None
        line = self._shell.stdout.readline()
        assert line, "the container could not be started"
        return line.rstrip("\n")
