"""Pure: Kubernetes quantities compared by value, so that `1000m` and `1` are the same amount.

Source of the grammar: apimachinery `pkg/api/resource/quantity.go`.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

_BINARY = {f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {letter: Decimal(10) ** (3 * power) for power, letter in enumerate("numkMGTPE", start=-3) if letter != "k"}
_SUFFIXES = {**_BINARY, **_DECIMAL, "k": Decimal(1000)}


def amount(text: str) -> Decimal | None:
    """The number behind a quantity such as `64Mi`, `50m` or `1e3`; None where the text is none."""
    number, factor = text, Decimal(1)
    for suffix in (text[-2:], text[-1:]):
        if suffix in _SUFFIXES:
            number, factor = text[: -len(suffix)], _SUFFIXES[suffix]
            break
    try:
        return Decimal(number) * factor
    except InvalidOperation:
        return None


def same(one: object, other: object) -> bool:
    """Whether two spellings, or bare numbers, stand for one amount; nonsense is equal to itself only."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    left, right = amount(str(one)), amount(str(other))
    return one == other if left is None or right is None else left == right
