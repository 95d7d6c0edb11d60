"""Pure: attribute values as HTTP header values (CloudEvents HTTP binding 1.0.2, section 3.1.3.2)."""

from __future__ import annotations

import re

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNSAFE = re.compile(rb'[^!-~]|["%]')


def encode(value: str) -> str:
    """Percent-encode what a header cannot carry; unreserved ASCII stays as it is. Raises ValueError."""
    try:
        return _UNSAFE.sub(lambda found: b"%%%02X" % ord(found[0]), value.encode("utf-8")).decode("ascii")
    except UnicodeEncodeError:
        raise ValueError("has an unpaired surrogate, which is no Unicode text") from None


def decode(value: str) -> str:
    """Undo one level of quoting, then one of percent-encoding. Raises ValueError.

    A bare space is let through, as the decoding rule says; anything else outside ASCII's printable range is not:
    servers hand it over in whatever charset they guess.
    """
    value = value.strip(" \t")
    if not (value.isascii() and (value.isprintable() or not value)):
        raise ValueError(f"{ascii(value)[:80]} has characters that a header cannot carry; percent-encode them as UTF-8")
    if '"' in value:
        quoted = _QUOTED.fullmatch(value)
        if quoted is None:
            raise ValueError(f"{ascii(value)[:80]} has a stray double quote; write it as %22")
        value = re.sub(r"\\(.)", r"\1", quoted[1])
    if "%" not in value:
        return value
    if _BROKEN_ESCAPE.search(value):
        raise ValueError(f"{ascii(value)[:80]} has a broken percent-escape; write a literal percent sign as %25")
    try:
        return _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), value.encode()).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{ascii(value)[:80]} does not percent-decode to UTF-8") from None
