"""Sends recorded events again and judges the answers."""

from __future__ import annotations

import fnmatch
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cloudevents.core.v1.event import CloudEvent

from functions.dev.answer import Answer
from functions.dev.recording import Recorded
from functions.webapp.errors import WebAppError

Send = Callable[[CloudEvent], Answer]
COMPARED = ("status", "outcome", "reason", "plan", "api_calls", "writes")


class BadExpectation(WebAppError):
    """A file is not what an earlier replay printed; the message names it."""

    error_type = "bad_expectation"


class BadFilter(WebAppError):
    """A filter or a speed that cannot be meant; the message shows it and says what would be right."""

    error_type = "bad_filter"


@dataclass(frozen=True, slots=True)
class Row:
    """One event that was sent, in which pass (from 1), and what came of it."""

    turn: int
    recorded: Recorded
    answer: Answer

    def told(self) -> dict[str, Any]:
        """The row as JSON; a file of these is what `--expect` compares with."""
        event, answer = self.recorded.event, self.answer
        return {
            "pass": self.turn,
            "line": self.recorded.line,
            "id": event.get_id(),
            "type": event.get_type(),
            "subject": event.get_subject() or "",
            "status": answer.status,
            "outcome": answer.outcome,
            "reason": answer.reason,
            "plan": list(answer.plan),
            "api_calls": len(answer.calls),
            "writes": answer.writes,
            "ms": answer.ms,
            "trace_id": answer.trace_id,
            "detail": answer.detail,
        }


@dataclass(frozen=True, slots=True)
class Course:
    """How to go through the events: how often, in which order, how fast.

    `speed` 10 takes a tenth of the time between the events' own times, None takes none.
    """

    turns: int = 1
    shuffle: random.Random | None = None
    speed: float | None = None

    def run(self, events: Iterable[Recorded], send: Send, sleep: Callable[[float], None] = time.sleep) -> Iterator[Row]:
        """Send them, one after another; each row is given as soon as its answer is there."""
        order = list(events)
        for turn in range(1, self.turns + 1):
            if self.shuffle:
                self.shuffle.shuffle(order)
            before: datetime | None = None
            for recorded in order:
                now = recorded.event.get_time()
                if self.speed and before and now:
                    sleep(max(0.0, (now - before).total_seconds() / self.speed))
                before = now or before
                yield Row(turn, recorded, send(recorded.event))


def chosen(events: Iterable[Recorded], filters: Iterable[str]) -> list[Recorded]:
    """Those that match every filter: `type=…` or `webapp=NAMESPACE/NAME`, `*` for any text. Raises BadFilter.

    A type may be short: `deployment.*` stands for every change of a Deployment.
    """
    pairs = [_filter(text) for text in filters]
    return [each for each in events if all(_matches(each.event, name, value) for name, value in pairs)]


def factor(text: str) -> float | None:
    """Read `10x`, `0.5x` or `max`. Raises BadFilter."""
    if text == "max":
        return None
    try:
        found = float(text.removesuffix("x"))
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise BadFilter(f"--speed {text!r}: is not a speed, such as 1x, 10x or max")
    return found


def problems(rows: Iterable[Row]) -> list[str]:
    """What did not hold: every event is done with, and no pass after the first writes anything."""
    found = []
    for row in rows:
        where = f"pass {row.turn}, line {row.recorded.line}, {row.recorded.event.get_id()}"
        if not row.answer.ok:
            found.append(f"{where}: {row.answer.detail}")
        elif row.turn > 1 and row.answer.writes:
            found.append(f"{where}: wrote again ({', '.join(row.answer.plan)})")
    return found


def expectation(text: str, name: str) -> list[Mapping[str, Any]]:
    """The rows that an earlier replay printed as JSON. Raises BadExpectation."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise BadExpectation(f"--expect {name!r}: is not JSON: {error}") from None
    rows = found.get("events") if isinstance(found, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "id" in row for row in rows):
        raise BadExpectation(f"--expect {name!r}: holds no rows; make it by `webapp replay … --output json`")
    return rows


def differences(rows: Iterable[Row], expected: Iterable[Mapping[str, Any]]) -> list[str]:
    """Where the answers are not as in an earlier replay; fields that the expectation leaves out may be anything."""
    wanted, got = _numbered(expected), _numbered(row.told() for row in rows)
    found = [f"{_place(key)}: expected, not sent" for key in wanted.keys() - got.keys()]
    found += [f"{_place(key)}: sent, not expected" for key in got.keys() - wanted.keys()]
    for key in got.keys() & wanted.keys():
        found += [
            f"{_place(key)}: {field} is {got[key][field]!r}, expected {wanted[key][field]!r}"
            for field in COMPARED
            if field in wanted[key] and wanted[key][field] != got[key][field]
        ]
    return sorted(found)


Place = tuple[Any, Any, int]


def _numbered(rows: Iterable[Mapping[str, Any]]) -> dict[Place, Mapping[str, Any]]:
    """By pass and id, and by how often that id had come: a recording may hold an event twice."""
    seen: Counter[tuple[Any, Any]] = Counter()
    found: dict[Place, Mapping[str, Any]] = {}
    for row in rows:
        key = (row.get("pass", 1), row.get("id"))
        seen[key] += 1
        found[*key, seen[key]] = row
    return found


def _place(key: Place) -> str:
    turn, event_id, nth = key
    return f"pass {turn}, {event_id}" + (f" (occurrence {nth})" if nth > 1 else "")


def _filter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if name not in {"type", "webapp"} or not equals or not value:
        raise BadFilter(f"--filter {text!r}: is neither type=TYPE nor webapp=NAMESPACE/NAME; * stands for any text")
    return name, value


def _matches(event: CloudEvent, name: str, pattern: str) -> bool:
    if name == "type":
        found = event.get_type()
        return fnmatch.fnmatchcase(found, pattern) or fnmatch.fnmatchcase(found, f"*.{pattern}.v1")
    return fnmatch.fnmatchcase(webapp(event), pattern)


def webapp(event: CloudEvent) -> str:
    """The key of the event's WebApp as NAMESPACE/NAME; "" where the event does not say it."""
    match event.get_data():
        case {"webapp": {"namespace": str(namespace), "name": str(name)}}:
            return f"{namespace}/{name}"
    return str(event.get_extension("partitionkey") or "")
