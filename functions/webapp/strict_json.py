"""Pure: JSON of strangers, read so that every reader of it sees the same value.

RFC 8259 leaves open what a reader does with duplicate names, unpaired surrogates, numbers beyond a double, and nesting
that exhausts its stack; I-JSON (RFC 7493) closes the first three. Here all four are errors.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from math import isfinite
from typing import Any

MAX_DEPTH = 100
"""Containers inside containers; a Deployment with managedFields has fewer than 20."""

_MAX_DIGITS = 40
_CONTAINERS = (dict, list)
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD]")
_TOO_DEEP = f"is nested deeper than {MAX_DEPTH} levels"
_SURROGATE = "has an unpaired surrogate, which is no Unicode text"


def loads(text: bytes) -> Any:
    """The value of one JSON text in UTF-8.

    Raises ValueError, whose message says what is wrong and fits behind the name of the field that held the text.
    """
    try:
        value = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_object,
            parse_float=_float,
            parse_int=_integer,
            parse_constant=_constant,
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error}") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if text.count(b"{") + text.count(b"[") > MAX_DEPTH:  # fewer cannot be nested that deep
        _check_depth(value)
    if _SURROGATE_ESCAPE.search(text):  # UTF-8 itself has no way to spell one
        dumps(value)
    return value


def dumps(value: Any) -> bytes:
    """Compact JSON in UTF-8. Raises ValueError for what JSON cannot say."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8")
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except UnicodeEncodeError:
        raise ValueError(_SURROGATE) from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"cannot be written as JSON: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise ValueError(f"has the name {ascii(counts.most_common(1)[0][0])[:80]} twice in one object")
    return found


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"has an integer of {len(text)} digits; write it as a text")
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"has the number {text[:40]}, which is beyond a double")
    return number


def _constant(text: str) -> Any:
    raise ValueError(f"has {text}, which is not JSON")


def _check_depth(value: Any) -> None:
    level: list[Any] = [[value]]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, _CONTAINERS)
        ]
        if not level:
            return
    raise ValueError(_TOO_DEEP)
