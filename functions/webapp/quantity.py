"""Pure: Kubernetes quantities compared by value, so that `1000m` and `1` are the same amount.

Sources: grammar and largest amount in apimachinery `pkg/api/resource/quantity.go`; that amounts of a container are
rounded up to thousandths in `pkg/apis/core/v1/defaults.go`, SetDefaults_ResourceList.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal

_FORM = re.compile(r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([KMGTPE]i|[numkMGTPE])|[eE]([-+]?[0-9]{1,3}))?")
_BINARY = {f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {letter: Decimal(1000) ** power for power, letter in enumerate(("n", "u", "m", "", *"kMGTPE"), start=-3)}
_FACTORS = {**_BINARY, **_DECIMAL}
_LONGEST = 64
_EXACT = Context(prec=2 * 1000 + _LONGEST)
_LEAST = Decimal("0.001")
_MOST = Decimal(2**63 - 1)


def amount(text: str) -> Decimal | None:
    """The number behind a quantity such as `64Mi` or `1e3`, as the API server keeps it; None where the text is none."""
    found = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    number, suffix, exponent = found.groups()
    exact = _EXACT.multiply(Decimal(number), _FACTORS[suffix or ""]).scaleb(int(exponent or 0), _EXACT)
    return min(exact.quantize(_LEAST, ROUND_UP, _EXACT), _MOST)


def same(one: object, other: object) -> bool:
    """Whether two spellings, or bare numbers, stand for one amount; nonsense is equal to itself only."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    left, right = amount(str(one)), amount(str(other))
    return one == other if left is None or right is None else left == right
