"""Runs what a page of the documentation tells its reader to type.

Blocks tagged `sh` are run in order, in one bash that stops at the first failure. A block tagged `text` or `console`
straight after one is what it prints, where `...` stands for anything (`doctest.ELLIPSIS`).
"""

from __future__ import annotations

import doctest
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SHELL = frozenset({"sh"})
OUTPUT = frozenset({"text", "console"})
_FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "\x1e"
_SECONDS = 240


@dataclass(frozen=True)
class Block:
    """A fenced block: its tag, its text, and the line (from 1) of its fence."""

    tag: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in _FENCE.finditer(text)]


def run(page: Path, environ: Mapping[str, str], folder: Path) -> int:
    """Run the page's commands in `folder` and give their number; fails with page, line and output of what did not."""
    found = blocks(page)
    commands = [block for block in found if block.tag in SHELL]
    script = "".join(f"printf '{_MARK}'\n{block.text}\n" for block in commands)
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", script],
        env=dict(environ),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    printed = done.stdout.split(_MARK)[1:]
    assert not done.returncode, f"{page.name}:{commands[len(printed) - 1].line}: exit {done.returncode}\n{printed[-1]}"
    for block, output in zip(commands, printed, strict=True):
        position = found.index(block) + 1
        if position < len(found) and found[position].tag in OUTPUT:
            _compare(page, found[position], output)
    return len(commands)


def _compare(page: Path, wanted: Block, output: str) -> None:
    checker, options = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    same = checker.check_output(wanted.text, output, options)
    assert same, f"{page.name}:{wanted.line}: expected\n{wanted.text}\nbut it printed\n{output}"
