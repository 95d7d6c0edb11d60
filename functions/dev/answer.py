"""Pure: what a function answered to an event, read from its HTTP response."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from functions.webapp.contract import ANSWER_OUTCOME


@dataclass(frozen=True, slots=True)
class Answer:
    """`status` is the HTTP status, 0 where no answer came and `detail` says why; `ms` what the sender measured.

    `plan` and `calls` are there where a report was asked for, `calls` as (method, path, error or "").
    """

    status: int
    ms: float
    outcome: str = ""
    reason: str = ""
    plan: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, str], ...] = ()
    trace_id: str = ""
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether the event is done with."""
        return 200 <= self.status < 300

    @property
    def writes(self) -> int:
        """API calls that wrote something; one that was refused wrote nothing."""
        return sum(1 for method, _, error in self.calls if method != "GET" and not error)


def read(status: int, headers: Mapping[str, str], body: bytes, ms: float) -> Answer:
    """The answer; a body that is no report of ours, or no problem details, counts as none."""
    try:
        found = json.loads(body) if body else {}
    except ValueError:
        found = {}
    told: Mapping[str, Any] = found if isinstance(found, dict) else {}
    calls = tuple((str(c["method"]), str(c["path"]), str(c.get("error", ""))) for c in told.get("calls", ()))
    plan = [f"{step['verb']} {step['kind']}" for step in told.get("plan", ())]
    if any(method == "PUT" and path.endswith("/status") and not error for method, path, error in calls):
        plan.append("update status")
    return Answer(
        status=status,
        ms=round(ms, 1),
        outcome=str(told.get("outcome") or headers.get(ANSWER_OUTCOME) or ""),
        reason=str(told.get("reason") or ""),
        plan=tuple(plan),
        calls=calls,
        trace_id=_trace_id(headers),
        detail="" if 200 <= status < 300 else str(told.get("detail") or f"HTTP {status}"),
    )


def _trace_id(headers: Mapping[str, str]) -> str:
    parts = headers.get("traceresponse", "").split("-")
    return parts[1] if len(parts) == 4 else ""
