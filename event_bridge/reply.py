"""Pure: the event that an answer holds: a function's reply, or what its refusal says of a run that failed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from sys import intern

from functions.webapp.contract import PROBLEM, PROBLEM_FINISHED
from functions.webapp.envelope import STRUCTURED

_MEMBER = json.dumps(PROBLEM_FINISHED).encode()


@dataclass(frozen=True, slots=True)
class Reply:
    """An event ready to be sent on: headers by their names in lower case, and the body."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return len(self.body) + sum(len(value) + 64 for value in self.headers.values()) + 256


def read(headers: Mapping[str, str], body: bytes) -> Reply | None:
    """The event of an answer, unread; None where there is none. Names of headers may be in any case."""
    if "ce-type" in headers:
        names = [(name, name.lower()) for name in headers]
        kept = {intern(low): headers[name] for name, low in names if low.startswith("ce-") or low == "content-type"}
        return Reply(kept, body)
    if headers.get("content-type") != PROBLEM or _MEMBER not in body:
        return None
    try:
        found = json.loads(body)[PROBLEM_FINISHED]
        return Reply({"content-type": STRUCTURED}, json.dumps(found, separators=(",", ":")).encode())
    except (ValueError, TypeError, KeyError, RecursionError):
        return None  # a text that only looks like one, or the beginning of a longer one
