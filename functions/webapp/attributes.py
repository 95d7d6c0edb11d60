"""Pure: the attributes of a CloudEvent and their type system (CloudEvents 1.0.2, Context Attributes)."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from functions.webapp.errors import MalformedEvent
from functions.webapp.media_type import MediaType
from functions.webapp.timestamp import Timestamp, rfc3339

REQUIRED = ("specversion", "id", "source", "type")
_TEXT = frozenset({*REQUIRED, "subject", "datacontenttype", "dataschema"})
_NAME = re.compile(r"\A[a-z0-9]+\Z")
_INTEGERS = range(-(2**31), 2**31)
_NONCHARACTERS = "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
_NO_TEXT = re.compile(f"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{_NONCHARACTERS}]")
_PCHAR = r"(?:[\w.~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_AUTHORITY = rf"(?:{_PCHAR}*@)?(?:\[[0-9A-Fa-fv:.]+\]|(?:(?!:|@){_PCHAR})*)(?::\d*)?"
_URI_REFERENCE = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):|(?![^/?#]*:))"
    rf"(?://{_AUTHORITY}(?=[/?#]|\Z)|(?!//))"
    rf"(?:{_PCHAR}|/)*(?:\?(?:{_PCHAR}|[/?])*)?(?:\#(?:{_PCHAR}|[/?])*)?",
    re.ASCII,
)


def checked(found: Mapping[str, Any], *, prefix: str = "") -> dict[str, Any]:
    """A new dict of the attributes that are set (None means unset), `time` as a datetime.

    Raises MalformedEvent for the first that is missing or that the specification does not allow; `prefix` stands
    before its name, as `ce-` does in HTTP headers.
    """
    present = {name: value for name, value in found.items() if value is not None}
    for name in REQUIRED:
        if name not in present:
            raise MalformedEvent(f"{prefix}{name}", f"is missing; every event needs {', '.join(REQUIRED)}")
    for name, value in present.items():
        try:
            present[name] = _value(name, value)
        except ValueError as error:
            raise MalformedEvent(label(name, prefix=prefix), str(error)) from None
    return present


def label(name: str, *, prefix: str = "") -> str:
    """How errors call an attribute: a name that is none is escaped, so that it cannot forge lines in a log."""
    return prefix + (name if _NAME.match(name) else _shown(name))


def text(value: Any) -> str:
    """The canonical string of an attribute value that `checked` let through (CloudEvents 1.0.2, Type System)."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case bytes():
            return b64encode(value).decode("ascii")
        case datetime():
            return rfc3339(value)
        case _:
            return str(value)


def _value(name: str, value: Any) -> Any:
    if not _NAME.match(name) or name == "data":
        raise ValueError("is no attribute name; use lower-case ASCII letters and digits, and not `data`")
    if name == "time":
        return _time(value)
    if name in _TEXT and not (isinstance(value, str) and value):
        raise ValueError(f"must be a text that is not empty, not {_shown(value)}")
    if isinstance(value, str) and not value.isprintable() and (bad := _NO_TEXT.search(value)):  # none is printable
        raise ValueError(f"has the character U+{ord(bad[0]):04X}, which no attribute may contain")
    match name:
        case "specversion":
            if value != "1.0":
                raise ValueError(f"{_shown(value)} is not supported; send 1.0")
        case "source" | "dataschema":
            _check_uri(value, absolute=name == "dataschema")
        case "datacontenttype":
            MediaType.parse(value)
        case _:
            _check_extension(value)
    return value


def _time(value: Any) -> datetime:
    if isinstance(value, datetime):
        rfc3339(value)
        return value
    if isinstance(value, str):
        return Timestamp.parse(value)
    raise ValueError(f"must be an RFC 3339 text, not {_shown(value)}")


def _check_uri(value: str, *, absolute: bool) -> None:
    parts = _URI_REFERENCE.fullmatch(value)
    if parts is None:
        raise ValueError(f"{_shown(value)} is not a URI reference (RFC 3986)")
    if absolute and not parts[1]:
        raise ValueError(f"{_shown(value)} is not an absolute URI; begin it with a scheme such as https:")


def _check_extension(value: Any) -> None:
    match value:
        case int() if value not in _INTEGERS:
            raise ValueError(f"{_shown(value)} does not fit 32 bits; send it as a text")
        case datetime():
            rfc3339(value)
        case bool() | int() | str() | bytes():
            pass
        case _:
            raise ValueError(f"must be a boolean, an integer or a text, not {_shown(value)}")


def _shown(value: object) -> str:
    return ascii(value)[:80]
