"""Pure: spans of time as kubectl shows them, with two units at most (apimachinery `HumanDuration`)."""

from __future__ import annotations

from datetime import datetime, timedelta

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY
_STEPS = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
    (0, _YEAR, "y", 0, ""),
)
"""Below so many seconds: the unit, its letter, and the unit that tells the rest."""


def short(span: timedelta) -> str:
    """A span as in the AGE column: `90s`, `5m30s`, `47h`, `3y20d`; clocks may differ by a second."""
    seconds = int(span.total_seconds())
    if seconds < -1:
        return "<invalid>"
    seconds = max(0, seconds)
    _, unit, letter, rest_unit, rest_letter = next(step for step in _STEPS if seconds < step[0] or not step[0])
    rest = seconds % unit // rest_unit if rest_unit else 0
    return f"{seconds // unit}{letter}" + (f"{rest}{rest_letter}" if rest else "")


def since(timestamp: object, now: datetime) -> str:
    """The age of something that happened at an RFC 3339 timestamp, `<unknown>` where there is none."""
    if not isinstance(timestamp, str):
        return "<unknown>"
    try:
        return short(now - datetime.fromisoformat(timestamp))
    except (TypeError, ValueError):
        return "<unknown>"
