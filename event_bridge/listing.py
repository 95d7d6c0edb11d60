"""Pure: a page of a list, read one object at a time, so that 500 parsed objects never stand in memory together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_items: Final = re.compile(
    r'"items"\s*:\s*\[\s*'
)  # first in a list: neither its kind nor its metadata has such a field
_decode = json.JSONDecoder().raw_decode
_space = re.compile(r"\s*")


class Page:
    """One answer of the API server to a list request; `version` and `token` are known after its objects were read."""

    def __init__(self, body: bytes) -> None:
        self._text = body.decode()
        self.version = ""
        self.token = ""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The objects in order; raises ValueError for what is no list."""
        text = self._text
        items = _items.search(text)
        if items is None:  # null
            whole = json.loads(text)
        else:
            at = start = items.end()
            while text[at] != "]":
                found, at = _decode(text, at)
                yield found
                at = _skip(text, at)
                if text[at] == ",":
                    at = _skip(text, at + 1)
            whole = json.loads(text[:start] + text[at:])
        meta = whole["metadata"]
        self.version, self.token = meta["resourceVersion"], meta.get("continue") or ""


def _skip(text: str, at: int) -> int:
    found = _space.match(text, at)
    return found.end() if found else at
