"""Pure: what a webhook decides, and the closed list of reasons for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Reason(StrEnum):
    """Why: a label of the metric and an attribute of the span, so a short closed list."""

    INJECTED = "injected"
    ALREADY_INJECTED = "already_injected"
    OPTED_OUT = "opted_out"
    MIRROR_POD = "mirror_pod"
    DELETED = "deleted"
    WINDOWS = "windows"
    HOST_PORTS = "host_ports"
    NAME_TAKEN = "name_taken"
    RUNS_TO_COMPLETION = "runs_to_completion"
    NO_LOG_VOLUME = "no_log_volume"
    COMPLIANT = "compliant"
    VIOLATION = "violation"
    UNCHANGED = "unchanged"
    TEMPLATE_VIOLATION = "template_violation"
    NOT_OURS = "not_ours"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`message` goes with a denial; `patch` is a JSON Patch (RFC 6902), empty where nothing is to change."""

    reason: Reason
    allowed: bool = True
    message: str = ""
    patch: Sequence[dict[str, Any]] = ()
    warnings: Sequence[str] = ()

    @property
    def decision(self) -> str:
        """`denied`, `patched` or `allowed`."""
        if not self.allowed:
            return "denied"
        return "patched" if self.patch else "allowed"
