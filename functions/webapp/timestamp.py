"""Pure: RFC 3339 timestamps that keep what a `datetime` cannot hold."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt]((?:[01]\d|2[0-3]):[0-5]\d):([0-5]\d|60)(?:\.(\d+))?"
    r"(?:[Zz]|([+-](?:[01]\d|2[0-3]):[0-5]\d))",
    re.ASCII,
)


class Timestamp(datetime):
    """A moment to the microsecond that remembers its spelling, nanoseconds and leap second included."""

    text: str = ""

    @classmethod
    def parse(cls, text: str) -> Timestamp:
        """Read RFC 3339 section 5.6, and nothing else of ISO 8601. Raises ValueError."""
        found = _RFC3339.fullmatch(text)
        if found is None:
            raise ValueError(f"{ascii(text)[:80]} is not RFC 3339, such as 2026-01-31T09:30:00Z")
        day, minute, second, fraction, offset = found.groups()
        leap = second == "60"
        micros = (fraction or "")[:6].ljust(6, "0")
        try:
            moment = cls.fromisoformat(f"{day}T{minute}:{'59' if leap else second}.{micros}{offset or '+00:00'}")
            if leap:
                moment = moment.astimezone(UTC) + timedelta(seconds=1)
        except (ValueError, OverflowError):
            raise ValueError(f"{ascii(text)[:80]} is not in the calendar") from None
        if leap and (moment.hour, moment.minute) != (0, 0):
            raise ValueError(f"{ascii(text)[:80]} has a leap second in the middle of a day")
        moment.text = text
        return moment


def rfc3339(moment: datetime) -> str:
    """The spelling that a Timestamp came with; any other aware datetime in UTC. Raises ValueError for a naive one."""
    if isinstance(moment, Timestamp) and moment.text:
        return moment.text
    if moment.utcoffset() is None:
        raise ValueError("has no time zone; use an aware datetime")
    try:
        return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
    except OverflowError:
        raise ValueError("is before year 1 or after year 9999 in UTC") from None
