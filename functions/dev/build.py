"""Building one pinned Go module into a folder that appears whole or not at all."""

import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from functions.dev.processes import ProcessGroup
from functions.webapp.errors import WebAppError

GO_VERSION = "1.26"
TICK_SECONDS = 0.5
LINE_SECONDS = 30.0
CURES = (
    f"Cures: install Go {GO_VERSION} or newer (https://go.dev/dl); or set KUBEBUILDER_ASSETS to a folder that holds "
    "these programs; or set KUBECONFIG to use a cluster that runs already."
)


class ToolchainError(WebAppError):
    """A program is neither there nor can be built; the message names the cures."""

    error_type = "toolchain"


@dataclass(frozen=True)
class Part:
    """A Go module and what it gives.

    `files` maps programs as Go names them to the names we know them by, `copies` files and folders of the module to
    where we want them. `minutes` is a rough expectation for two cores and an empty Go cache. `version_package` is the
    Go package that is told the version by linker flags, `tags` are build tags; `cgo` needs a C compiler.
    """

    name: str
    module: str
    files: Mapping[str, str]
    minutes: int
    copies: Mapping[str, str] = field(default_factory=dict)
    version_package: str = ""
    tags: tuple[str, ...] = ()
    cgo: bool = False

    @property
    def contents(self) -> set[str]:
        """The top-level names in the folder of a finished build."""
        return {Path(name).parts[0] for name in (*self.files.values(), *self.copies.values())}


def build(part: Part, source: Path, folder: Path) -> None:
    """Build the module in `source` into `folder`, unless another process does so first. Raises ToolchainError."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_name("lock"), part, console):
        if folder.is_dir():
            return
        go = _go(part, source)
        unfinished = folder.with_name("unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        flags = ["-trimpath", "-o", f"{unfinished}/", "-ldflags", _linker_flags(part, source)]
        flags += ["-tags", ",".join(part.tags)] if part.tags else []
        _run(part, [str(go), "-C", str(source), "build", *flags, "tool"], console)
        for built, name in part.files.items():
            (unfinished / built).rename(unfinished / name)
        if part.copies:
            module = Path(_output(go, source, "list", "-m", "-f", "{{.Dir}}", part.module))
            for original, copy in part.copies.items():
                (unfinished / copy).parent.mkdir(exist_ok=True)
                _copy(module / original, unfinished / copy)
        unfinished.rename(folder)


def _copy(original: Path, copy: Path) -> None:
    if original.is_dir():
        shutil.copytree(original, copy, ignore=shutil.ignore_patterns("*.go"), copy_function=shutil.copyfile)
    else:
        shutil.copyfile(original, copy)


def _go(part: Part, source: Path) -> Path:
    wanted = ", ".join(sorted(part.contents))
    found = shutil.which("go")
    if found is None:
        raise ToolchainError(f"cannot build {part.name} ({wanted}): there is no Go on PATH. {CURES}")
    try:
        _output(Path(found), source, "list", "-m")  # reads go.mod, which a Go too old refuses
    except subprocess.CalledProcessError as error:
        message = f"cannot build {part.name} ({wanted}) with {found}: {error.stderr.strip()}. {CURES}"
        raise ToolchainError(message) from error
    return Path(found)


def _output(go: Path, source: Path, *args: str) -> str:
    return subprocess.run([go, "-C", source, *args], capture_output=True, text=True, check=True).stdout.strip()


def _linker_flags(part: Part, source: Path) -> str:
    """Strip symbols; tell Kubernetes the version that go.mod pins, which it otherwise reports as v0.0.0."""
    if not part.version_package:
        return "-s -w"
    pinned = re.search(rf"{re.escape(part.module)} (v(\d+)\.(\d+)\.\S+)", (source / "go.mod").read_text())
    if pinned is None:
        raise ToolchainError(f"{source / 'go.mod'} does not require {part.module}: restore the file")
    values = zip(("gitVersion", "gitMajor", "gitMinor"), pinned.groups(), strict=True)
    return " ".join(["-s -w", *(f"-X {part.version_package}.{name}={value}" for name, value in values)])


def _run(part: Part, command: list[str], console: Console) -> None:
    """Run the build while telling how long it has taken: a live line on a terminal, else a line now and then."""
    begun = told = time.monotonic()
    expectation = f"about {part.minutes} min the first time"
    with ProcessGroup() as group, console.status(f"building {part.name} ({expectation})") as status:
        if not console.is_terminal:
            console.print(f"building {part.name} ({expectation})")
        process = group.start("go", command, {**os.environ, "CGO_ENABLED": str(int(part.cgo))})
        while process.wait(TICK_SECONDS) is None:
            now = time.monotonic()
            status.update(f"building {part.name}: {now - begun:.0f} s ({expectation})")
            if not console.is_terminal and now - told >= LINE_SECONDS:
                told = now
                console.print(f"building {part.name}: {now - begun:.0f} s")
        if process.returncode:
            raise ToolchainError(f"go build of {part.name} failed:\n{process.tail()}\n{CURES}")
    console.print(f"built {part.name} in {time.monotonic() - begun:.0f} s")


@contextmanager
def _locked(path: Path, part: Part, console: Console) -> Iterator[None]:
    """Hold the lock of one part; the kernel lets go of it when its holder dies."""
    with path.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.print(f"waiting: another process builds {part.name}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
