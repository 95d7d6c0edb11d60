"""Pure: who asks, as kube-apiserver found out (`authentication/user`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MASTERS = "system:masters"
"""The group whose members may do everything."""


@dataclass(frozen=True)
class User:
    """A name, and what else authorizers may look at."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
