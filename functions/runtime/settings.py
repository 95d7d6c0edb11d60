"""Environment variables, read once at start, with errors that name the variable, its value and the cure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")


class SettingsError(Exception):
    """A variable has a value that cannot be meant."""


def read(environ: Mapping[str, str], name: str, cast: Callable[[str], T], default: T) -> T:
    """The variable as `cast` reads it, or the default where it is unset or empty.

    `cast` raises ValueError with a text that says what would be right; it comes back as SettingsError.
    """
    text = environ.get(name, "").strip()
    if not text:
        return default
    try:
        return cast(text)
    except ValueError as error:
        raise SettingsError(f"{name}={text!r}: {error}") from None


def integer(low: int, high: int) -> Callable[[str], int]:
    """A whole number from low to high."""

    def cast(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return cast


def seconds(low: float, high: float) -> Callable[[str], float]:
    """A number of seconds from low to high."""

    def cast(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = float("nan")
        if not low <= found <= high:
            raise ValueError(f"must be a number of seconds from {low:g} to {high:g}")
        return found

    return cast


def share(text: str) -> float:
    """A number from 0 to 1."""
    found = float(text) if text.replace(".", "", 1).isdigit() else -1.0
    if not 0 <= found <= 1:
        raise ValueError("must be a number from 0 to 1")
    return found


def names(text: str) -> tuple[str, ...]:
    """A list by commas, without empty entries and doubles."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def switch(text: str) -> bool:
    """`true` or `false`."""
    if text.lower() not in {"true", "false"}:
        raise ValueError("must be true or false")
    return text.lower() == "true"
