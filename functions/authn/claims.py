"""Pure: the provider's claims become a Kubernetes user.

Kubernetes trusts a webhook's names word for word, `system:masters` included (openshift/origin issue 18922), so nothing
that begins with `system:` gets past this module, whoever says it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from functions.authn.verdict import Active, Identity, Inactive

RESERVED = "system:"
MAX_GROUPS = 500
MAX_NAME = 1024


@dataclass(frozen=True)
class ClaimMap:
    """Which claim means what; a claim is named as it stands, or by a path of dots such as `ext.groups`."""

    username: str = "sub"
    username_prefix: str = "idp:"
    groups: str = "groups"
    groups_prefix: str = "idp:"
    uid: str = "sub"
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mapped:
    """What came out of the claims, and how many groups were dropped for their names."""

    verdict: Active | Inactive
    dropped: int = 0


def lookup(claims: Mapping[str, Any], name: str) -> Any:
    """The claim of that name; else what the path leads to; else None."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return None
        found = found[part]
    return found


def user(claims: Mapping[str, Any], mapping: ClaimMap) -> Mapped:
    """The verdict about a token that the provider calls active.

    Without a usable name there is no user: the token is refused, as it is if the name is reserved. Groups that are
    reserved, empty, too long or no strings are dropped, as are those beyond MAX_GROUPS.
    """
    raw = lookup(claims, mapping.username)
    if not _usable(raw):
        return Mapped(Inactive("no_username"))
    username = mapping.username_prefix + raw
    if raw.startswith(RESERVED) or username.startswith(RESERVED):
        return Mapped(Inactive("reserved_username"))
    named = _texts(lookup(claims, mapping.groups))
    groups = tuple(
        dict.fromkeys(
            mapping.groups_prefix + each
            for each in named
            if _usable(each)
            and not each.startswith(RESERVED)
            and not (mapping.groups_prefix + each).startswith(RESERVED)
        )
    )[:MAX_GROUPS]
    uid = lookup(claims, mapping.uid)
    extra = {key: tuple(filter(_usable, _texts(lookup(claims, name)))) for key, name in mapping.extra.items()}
    identity = Identity(
        username=username,
        uid=uid if _usable(uid) else "",
        groups=groups,
        extra=tuple((key, values) for key, values in extra.items() if values),
    )
    audiences = frozenset(filter(_usable, _texts(claims.get("aud"))))
    return Mapped(Active(identity, audiences, _moment(claims.get("exp"))), len(set(map(str, named))) - len(groups))


def _usable(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= MAX_NAME and value.isprintable()


def _texts(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) else []


def _moment(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return float(value)
