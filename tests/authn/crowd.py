"""Many requests at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor


def at_once(call, arguments, width=50):
    """`call` of each argument, `width` at a time; the results in order."""
    with ThreadPoolExecutor(width) as pool:
        return list(pool.map(call, arguments))
