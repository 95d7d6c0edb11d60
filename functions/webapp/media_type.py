"""Pure: media types (RFC 9110 section 8.3.1), compared as the RFC wants: type and charset without regard to case."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - RFC 9110's word for a word
_QUOTED = r'"(?:[\t !#-\[\]-~]|\\[\t -~])*"'
_PARAMETER = rf"[ \t]*;(?:[ \t]*({_TOKEN})=({_TOKEN}|{_QUOTED}))?"
_MEDIA_TYPE = re.compile(rf"({_TOKEN}/{_TOKEN})((?:{_PARAMETER})*)[ \t]*")
_EACH = re.compile(_PARAMETER)
_UTF8 = frozenset({"utf-8"})


class MediaType(NamedTuple):
    """`name` in lower case, such as application/json, and the charsets that its parameters name, in lower case."""

    name: str
    charsets: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> MediaType:
        """Read a Content-Type or a datacontenttype. Raises ValueError."""
        found = _MEDIA_TYPE.fullmatch(text)
        if found is None:
            raise ValueError(f"{ascii(text)[:80]} is not a media type, such as application/json")
        charsets = (value for name, value in _EACH.findall(found[2]) if name.lower() == "charset")
        return cls(found[1].lower(), frozenset(re.sub(r'\\(.)|"', r"\1", each).lower() for each in charsets))

    @property
    def is_json(self) -> bool:
        """JSON by CloudEvents JSON format 3.1: the subtype is `json` or ends in `+json`."""
        subtype = self.name.partition("/")[2]
        return subtype == "json" or subtype.endswith("+json")

    @property
    def is_text(self) -> bool:
        """Text that is, or may be taken for, UTF-8."""
        return self.name.startswith("text/") and not self.is_json and self.is_utf8

    @property
    def is_utf8(self) -> bool:
        """No charset other than UTF-8 is named."""
        return self.charsets <= _UTF8
