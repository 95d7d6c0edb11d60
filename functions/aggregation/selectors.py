"""Pure: label and field selectors as kubectl sends them.

The grammars are those of apimachinery (`pkg/labels/selector.go`, `pkg/fields/selector.go`) without `<` and `>`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+|\Z)")
_SYMBOLS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">", ""})
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_FIELD_OPERATOR = re.compile(r"!=|==|=")
_ESCAPED = re.compile(r"\\(.?)", re.DOTALL)


class SelectorError(ValueError):
    """What is wrong with a selector; the message names the part."""


class Operator(StrEnum):
    """How a requirement looks at a label; `==` is EQUAL."""

    EQUAL = "="
    NOT_EQUAL = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    NOT_EXISTS = "!exists"


_NEGATIVE = frozenset({Operator.NOT_EQUAL, Operator.NOT_IN, Operator.NOT_EXISTS})
_COMPARING = frozenset({Operator.EQUAL, Operator.NOT_EQUAL, Operator.IN, Operator.NOT_IN})


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label; `values` are sorted, exactly one for `=` and `!=`, none for the two on existence."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet it; a label that is not there differs from every value."""
        met = self.key in labels
        if self.operator in _COMPARING:
            met = met and labels[self.key] in self.values
        return met is not (self.operator in _NEGATIVE)


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One condition on a field of the object, such as `status.outcome`; a field that is not there is an empty text."""

    path: str
    equal: bool
    value: str

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether an object meets it."""
        found: Any = obj
        for part in self.path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return (("" if found is None else str(found)) == self.value) is self.equal


def labels(text: str) -> tuple[Requirement, ...]:
    """Parse a label selector such as `app=web,tier in (a, b),!canary`. Raises SelectorError."""
    return tuple(_Parser(text).requirements())


def fields(text: str, known: Collection[str]) -> tuple[FieldRequirement, ...]:
    """Parse a field selector such as `status.outcome!=Failed`, of `known` fields only. Raises SelectorError."""
    return tuple(_field(term, known) for term in _terms(text) if term)


class _Parser:
    """Reads a token ahead; words that are operators may be keys and values too."""

    def __init__(self, text: str) -> None:
        self._tokens = [found[1] for found in _TOKEN.finditer(text)]
        self._position = 0

    @property
    def _next(self) -> str:
        return self._tokens[self._position]

    def _take(self) -> str:
        token = self._next
        self._position += bool(token)
        return token

    def _expect(self, *wanted: str) -> str:
        if self._next not in wanted:
            raise SelectorError(f"found {_shown(self._next)}, expected {' or '.join(map(_shown, wanted))}")
        return self._take()

    def _word(self, what: str) -> str:
        if self._next in _SYMBOLS:
            raise SelectorError(f"found {_shown(self._next)}, expected {what}")
        return self._take()

    def requirements(self) -> Iterator[Requirement]:
        if not self._next:
            return
        yield self._requirement()
        while self._next:
            self._expect(",", "")
            yield self._requirement()

    def _requirement(self) -> Requirement:
        absent = self._next == "!" and bool(self._take())
        key = _key(self._word("a label"))
        if absent:
            return Requirement(key, Operator.NOT_EXISTS)
        if self._next in {",", ""}:
            return Requirement(key, Operator.EXISTS)
        operator = self._expect("=", "==", "!=", "in", "notin")
        if operator in {"in", "notin"}:
            return Requirement(key, Operator(operator), tuple(sorted({_value(key, each) for each in self._set()})))
        value = "" if self._next in {",", ""} else self._word("a value")
        return Requirement(key, Operator(operator[:1].replace("!", "!=")), (_value(key, value),))

    def _set(self) -> Iterator[str]:
        """The values in parentheses; where there is none it is an empty one."""
        self._expect("(")
        while True:
            yield "" if self._next in {",", ")"} else self._word("a value")
            if self._expect(",", ")") == ")":
                return


def _shown(token: str) -> str:
    return repr(token) if token else "the end"


def _key(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    good = len(name) <= 63 and _NAME.fullmatch(name)
    if slash:
        good = good and len(prefix) <= 253 and _SUBDOMAIN.fullmatch(prefix)
    if not good:
        raise SelectorError(f"{key!r} is no label; use one such as app or example.com/app, at most 63 characters")
    return key


def _value(key: str, value: str) -> str:
    if value and not (len(value) <= 63 and _NAME.fullmatch(value)):
        raise SelectorError(
            f"{key}: {value!r} is no label value; use at most 63 letters, digits, '-', '_' and '.', "
            "the first and last a letter or digit"
        )
    return value


def _terms(text: str) -> Iterator[str]:
    """Split at the commas that no backslash precedes."""
    return iter(re.findall(r"(?:\\.|[^,\\]|\\$)+", text, re.DOTALL))


def _field(term: str, known: Collection[str]) -> FieldRequirement:
    operator = _FIELD_OPERATOR.search(term)
    if operator is None:
        raise SelectorError(f"{term!r} has no operator; use =, == or !=")
    path = term[: operator.start()]
    if path not in known:
        raise SelectorError(f"field label not supported: {path!r}; supported are {', '.join(sorted(known))}")
    return FieldRequirement(path, operator[0] != "!=", _unescaped(path, term[operator.end() :]))


def _unescaped(path: str, value: str) -> str:
    if "=" in _ESCAPED.sub("", value):
        raise SelectorError(f"{path}: {value!r} has a bare '='; write it as '\\='")
    for found in _ESCAPED.finditer(value):
        if found[1] not in {"\\", ",", "="} or not found[1]:
            raise SelectorError(f"{path}: {value!r} has {found[0]!r}; only \\\\, \\, and \\= are escapes")
    return _ESCAPED.sub(r"\1", value)
