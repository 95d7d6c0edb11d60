"""Pure: what an answer of the sink means. Nothing else knows HTTP status codes of deliveries.

The table is Knative's (specs/eventing/data-plane.md), read with care: what may be cured by waiting is tried again,
500, 408, 409 and 425 included, which Knative's own sources give up on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final

from event_bridge import reply
from event_bridge.backlog import Write
from event_bridge.reply import Reply
from functions.webapp.contract import ANSWER_OUTCOME, ANSWER_REQUEUE_AFTER, ANSWER_WROTE, PROBLEM

MAX_TEXT: Final = 1024
"""So much of a refusal is kept (Knative's `knativeerrordata`)."""

_LONGEST_SECONDS: Final = 3600.0
_AUTHORIZATION_SECONDS: Final = 60.0
_WAITABLE: Final = frozenset({401, 403, 404, 408, 409, 425, 429})
_NOBODY: Final = frozenset({404, 500, 502, 503, 504})


class Verdict(StrEnum):
    """What to do with the notice."""

    ACKNOWLEDGED = "acknowledged"
    AGAIN = "again"
    POISON = "poison"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `status` is 0 where nothing did, `sink` tells that no function has looked at the event.

    `reply` is the event that it holds, if it does.
    """

    verdict: Verdict
    status: int = 0
    error_type: str = ""
    sink: bool = False
    retry_after: float = 0.0
    requeue_after: float = 0.0
    wrote: frozenset[Write] = frozenset()
    outcome: str = ""
    text: str = ""
    reply: Reply | None = None

    @property
    def label(self) -> str:
        """A class of few values, for metrics: 2xx, 4xx, 5xx, or why nothing came."""
        return f"{self.status // 100}xx" if self.status else self.error_type


def lost(error_type: str, text: str) -> Answer:
    """No answer came: the connection failed, or nothing was said in time."""
    return Answer(Verdict.AGAIN, error_type=error_type, sink=True, text=text[:MAX_TEXT])


def read(status: int, headers: Mapping[str, str], body: bytes, now: datetime, *, whole: bool = True) -> Answer:
    """An answer by its status and headers (names in any case, if the mapping allows it); `now` dates Retry-After.

    A body that is not `whole` is too long for a reply.
    """
    outcome = headers.get(ANSWER_OUTCOME, "")
    replied = reply.read(headers, body) if whole else None
    wrote = frozenset(_writes(headers.get(ANSWER_WROTE, "")))
    if 200 <= status < 300:
        requeue_after = _seconds(headers.get(ANSWER_REQUEUE_AFTER, ""))
        return Answer(
            Verdict.ACKNOWLEDGED,
            status,
            requeue_after=requeue_after,
            wrote=wrote,
            outcome=outcome,
            reply=replied,
        )
    poison = 400 <= status < 500 and status not in _WAITABLE
    return Answer(
        Verdict.POISON if poison else Verdict.AGAIN,
        status,
        error_type=str(status),
        sink=status in _NOBODY and not outcome and headers.get("content-type") != PROBLEM,
        retry_after=_AUTHORIZATION_SECONDS if status in {401, 403} else _retry_after(headers, now),
        wrote=wrote,
        outcome=outcome,
        text=body[:MAX_TEXT].decode("utf-8", "replace"),
        reply=replied,
    )


def _retry_after(headers: Mapping[str, str], now: datetime) -> float:
    """Seconds or an HTTP date (RFC 9110 section 10.2.3); what is neither asks for nothing."""
    text = headers.get("retry-after", "").strip()
    if not text or text.isdecimal():
        return _seconds(text)
    try:
        return min(_LONGEST_SECONDS, max(0.0, (parsedate_to_datetime(text) - now).total_seconds()))
    except (ValueError, TypeError):
        return 0.0


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return 0.0
    return min(_LONGEST_SECONDS, found) if found > 0 else 0.0


def _writes(text: str) -> list[Write]:
    pairs = (each.partition("/") for each in text.split())
    return [(uid, version) for uid, _, version in pairs if uid and version]
