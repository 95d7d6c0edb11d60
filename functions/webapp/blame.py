"""Pure: turns pydantic's findings into one `InvalidSpec` that names the field, the value and the cure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from functions.webapp.errors import InvalidSpec
from functions.webapp.fields import WORDS

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

MAX_MESSAGE: Final = 256
MAX_QUOTE: Final = 48
MAX_STEP: Final = 64

_TYPES: Final = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "int_type": "an integer",
    "list_type": "a list",
    "model_type": "an object",
    "string_type": "a string: put it in quotes",
}


def blame(error: ValidationError) -> InvalidSpec:
    """Tell the first finding, in the order of the model's fields; the text is the same for the same object."""
    finding = error.errors(include_url=False)[0]
    return InvalidSpec(_path(finding), _cut(f"{_quote(finding)}{_cure(finding)}", MAX_MESSAGE))


def _path(finding: ErrorDetails) -> str:
    path = ""
    for step in finding["loc"]:
        path += f"[{step}]" if isinstance(step, int) else f".{_cut(step, MAX_STEP)}"
    context = finding.get("ctx", {})
    if "at" in context:
        path += f"[{context['at']}]"
    if context.get("below"):
        path += f".{context['below']}"
    return path.removeprefix(".")


def _quote(finding: ErrorDetails) -> str:
    """Show the offending value, cut short; never an environment variable's, which may be a secret."""
    value = finding["input"]
    if finding["type"] == "rule":
        for step in filter(None, finding["ctx"]["below"].split(".")):
            value = value.get(step)
        if not isinstance(value, str):
            return ""
    elif finding["type"] in {"missing", "duplicate"} or finding["loc"][-1] == "value":
        return ""
    return f"{_cut(json.dumps(value, default=str, sort_keys=True), MAX_QUOTE)} "


def _cure(finding: ErrorDetails) -> str:
    context = finding.get("ctx", {})
    match finding["type"]:
        case "missing":
            cure = "must be set"
        case "string_too_long":
            cure = f"must have at most {context['max_length']} characters, not {len(finding['input'])}"
        case "too_long":
            cure = f"must have at most {context['max_length']} entries, not {len(finding['input'])}"
        case "string_too_short":
            cure = "must not be empty"
        case "string_pattern_mismatch":
            cure = f"must be {WORDS[context['pattern']]}"
        case "greater_than_equal":
            cure = f"must be at least {context['ge']}"
        case "less_than_equal":
            cure = f"must be at most {context['le']}"
        case "literal_error":
            cure = f"must be {context['expected']}"
        case kind:
            cure = f"must be {_TYPES[kind]}" if kind in _TYPES else finding["msg"]
    return cure


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
