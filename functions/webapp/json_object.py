"""Pure: the members of a JSON object by the type that they must have; what has another is a MalformedEvent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from re import Pattern
from typing import Any, Final, TypeVar

from functions.webapp.errors import MalformedEvent
from functions.webapp.timestamp import Timestamp

MAX_TEXT: Final = 4096
MAX_OBJECTS: Final = 1000
_MAX_INTEGER: Final = 2**63 - 1

Word = TypeVar("Word", bound=StrEnum)
Absent = TypeVar("Absent", int, None)


class JsonObject:
    """Reads `found`; `field` is where it stands, such as `data.trigger`. Members that nobody asks for may be there.

    A default makes a member optional: it stands for one that is absent or null. Everything raises MalformedEvent.
    """

    def __init__(self, found: object, field: str) -> None:
        if not isinstance(found, Mapping):
            raise MalformedEvent(field, "must be a JSON object")
        self._found, self._field = found, field

    def has(self, name: str) -> bool:
        """Whether the member is there."""
        return self.value(name) is not None

    def value(self, name: str) -> Any:
        """The member as it is; None where it is absent."""
        return self._found.get(name)

    def member(self, name: str) -> JsonObject:
        """A JSON object."""
        return JsonObject(self.value(name), self._name(name))

    def members(self, name: str, texts: Collection[str]) -> tuple[Mapping[str, Any], ...]:
        """A list of JSON objects, each with the members `texts`, which are texts; absent is empty."""
        found = self.value(name)
        if found is None:
            return ()
        if not isinstance(found, list) or len(found) > MAX_OBJECTS:
            raise MalformedEvent(self._name(name), f"must be a list of at most {MAX_OBJECTS} objects")
        for number, each in enumerate(found):
            reader = JsonObject(each, f"{self._name(name)}[{number}]")
            for text in texts:
                reader.text(text)
        return tuple(found)

    def text(self, name: str, default: str | None = None, *, form: Pattern[str] | None = None) -> str:
        """A text; not empty, and of the whole `form`, where there is no default."""
        found = self.value(name)
        if found is None and default is not None:
            return default
        if not isinstance(found, str) or len(found) > MAX_TEXT or not (found or default is not None):
            raise self._wrong(name, f"a text of at most {MAX_TEXT} characters")
        if form is not None and not form.fullmatch(found):
            raise self._wrong(name, f"of the form {form.pattern}")
        return found

    def one_of(self, name: str, words: type[Word]) -> Word:
        """One of a closed list."""
        try:
            return words(self.text(name))
        except ValueError:
            raise self._wrong(name, f"one of {', '.join(words)}") from None

    def integer(self, name: str, default: Absent, *, low: int = 0) -> int | Absent:
        """An integer of at least `low`."""
        found = self.value(name)
        if found is None:
            return default
        if type(found) is not int or not low <= found <= _MAX_INTEGER:
            raise self._wrong(name, f"an integer of at least {low}")
        return found

    def number(self, name: str) -> float:
        """A number of at least 0."""
        found = self.value(name)
        if type(found) not in {int, float} or not 0 <= found <= _MAX_INTEGER:
            raise self._wrong(name, "a number of at least 0")
        return float(found)

    def moment(self, name: str) -> datetime:
        """A time in RFC 3339, in UTC."""
        try:
            return Timestamp.parse(self.text(name)).astimezone(UTC)
        except (ValueError, OverflowError):
            raise self._wrong(name, "a time in RFC 3339, such as 2026-01-31T09:30:00Z") from None

    def _name(self, name: str) -> str:
        return f"{self._field}.{name}"

    def _wrong(self, name: str, wanted: str) -> MalformedEvent:
        return MalformedEvent(self._name(name), f"{ascii(self.value(name))[:80]} is not {wanted}")
