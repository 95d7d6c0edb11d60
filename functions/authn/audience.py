"""Pure: whether a token is meant for whom it was shown to.

A reply without audiences makes the API server put in its own (apiserver `webhook.go`), so a token whose audiences were
checked and failed must be refused, never answered without any; and the request's are never echoed unchecked.
"""

from __future__ import annotations

from collections.abc import Sequence

from functions.authn.verdict import Active


def shared(active: Active, asked: Sequence[str], own: Sequence[str], *, required: bool) -> tuple[str, ...] | None:
    """The audiences to answer with, in the order in which they were asked for; None means that the token is refused.

    `asked` are the request's; where it names none, `own`, the API server's as configured, stand for them. A token
    without audiences is good only if they are not `required`, and is answered without any.
    """
    if not active.audiences:
        return None if required else ()
    wanted = asked or own
    if not wanted:
        return None if required else ()
    found = tuple(each for each in wanted if each in active.audiences)
    return found or None
