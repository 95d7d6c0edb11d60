"""Finished reconciles as tests need them, as events and as rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from functions.history.record import Record, record
from functions.webapp import envelope, finished
from functions.webapp.contract import Cause, Change, Key
from functions.webapp.finished import Finished, Trigger
from functions.webapp.outcome import Outcome

GROUP = "platform.example.com"
HISTORY = "history.platform.example.com"
SOURCE = "//platform.example.com/clusters/c/platform.example.com/webapps"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def run(number: int, *, namespace: str = "team", webapp: str = "web", **changes: Any) -> Finished:
    """The run with that number; each began a second after the one before."""
    trigger = Trigger(
        id=f"{namespace}.{webapp}.{number}.modified",
        type="com.example.platform.webapp.modified.v1",
        source=SOURCE,
        subject=f"/apis/platform.example.com/v1/namespaces/{namespace}/webapps/{webapp}",
        change=Change.MODIFIED,
        cause=Cause.WATCH,
    )
    found = Finished(
        webapp=Key(namespace, webapp, "7f0c2c0e-0000-4000-8000-000000000001"),
        outcome=Outcome.UPDATED,
        trigger=trigger,
        trace_id=f"{number + 1:032x}",
        span_id=f"{number + 1:016x}",
        started_at=NOON + timedelta(seconds=number),
        duration_ms=12.5,
        generation=number + 1,
        plan=({"verb": "patch", "kind": "Deployment", "name": webapp},),
    )
    return replace(found, **changes)


def row(number: int, **changes: Any) -> Record:
    """That run as a row."""
    made = run(number, **changes)
    return record(made.trigger.source, made.id, made)


def rows(count: int, start: int = 0, **changes: Any) -> list[Record]:
    """The rows of `count` runs."""
    return [row(number, **changes) for number in range(start, start + count)]


def request(number: int, group: str = GROUP, **changes: Any) -> tuple[dict[str, str], bytes]:
    """That run as the headers and the body of an event."""
    return envelope.encode_binary(finished.event(run(number, **changes), group))
