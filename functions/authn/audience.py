"""Pure: whether a token is meant for whom it was shown to.

A reply without audiences makes the API server put in its own (apiserver `webhook.go`), so a token whose audiences were
checked and failed must be refused, never answered without any; and the request's are never echoed unchecked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from functions.authn.verdict import Active


@dataclass(frozen=True)
class Audiences:
    """`own` stand for the API server in a request that names none; `required`: a token without any is refused."""

    own: tuple[str, ...] = ()
    required: bool = True

    def shared(self, active: Active, asked: Sequence[str]) -> tuple[str, ...] | None:
        """The audiences that both sides name, in the order in which they were asked for; None refuses the token.

        A token without audiences, where that is allowed, is answered without any.
        """
        wanted = tuple(asked) or self.own
        if not active.audiences or not wanted:
            return None if self.required else ()
        return tuple(each for each in wanted if each in active.audiences) or None
