"""The command line as tests call it: in this process, with what it printed and its exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from functions import cli


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Done]


def runner(capfd: pytest.CaptureFixture[str]) -> Run:
    """`run("replay", path, "--twice")` gives exit code and output."""

    def run(*arguments: object) -> Done:
        capfd.readouterr()
        code = cli.main([str(each) for each in arguments])
        return Done(code, *capfd.readouterr())

    return run
