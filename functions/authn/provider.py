"""What every identity provider profile offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from opentelemetry.context import Context

from functions.authn.verdict import Failure, Inactive

Claims = Mapping[str, Any]
"""What the provider says of an active token; `aud`, `exp`, `sub` as in RFC 7662 section 2.2."""


class Provider(Protocol):
    """Asked about one token at a time, from several threads."""

    def check(self, token: str, wall: float, context: Context) -> Claims | Inactive | Failure:
        """One question, within the budget, at the wall clock's `wall`; never raises for what the provider does."""
        ...
