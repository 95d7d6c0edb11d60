"""What the environment says: read once, checked once, never changed afterwards.

Knative's part of it (`K_*` and the token) comes from a SinkBinding or ContainerSource.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from functions.runtime.listening import Address
from functions.runtime.settings import SettingsError, integer, names, read, seconds, switch
from functions.webapp import attributes, header_value
from functions.webapp.errors import MalformedEvent
from functions.webapp.resources import DEFAULT_GROUP, OWNED, SYSTEM_NAMESPACE, Resource, webapp

TRUST_BUNDLES: Final = Path("/knative-custom-certs")
"""Where Knative mounts further certificate authorities."""

OIDC_TOKEN: Final = Path("/oidc/token")
"""Where Knative's SinkBinding mounts the token for the sink."""


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """Which Lease decides who sends; the times are controller-runtime's defaults."""

    namespace: str
    name: str
    identity: str
    duration_seconds: int = 15
    renew_deadline_seconds: float = 10.0
    retry_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class Destination:
    """Where requests go, whom to believe that it is there, and how long to wait for it.

    `token` is a file; a token is made for one audience, so each destination has its own.
    """

    url: str
    token: Path | None
    ca_certs: str
    bundles: Path
    connections: int
    connect_seconds: float
    response_seconds: float


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """Where finished reconciles go, and how many may wait."""

    destination: Destination
    most_events: int
    most_bytes: int


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole configuration of one bridge."""

    group: str
    primary: Resource
    owned: tuple[Resource, ...]
    namespaces: tuple[str, ...]
    cluster: str
    sink: Destination | None
    extensions: Mapping[str, str]
    history: HistorySettings | None
    concurrency: int
    idle_seconds: float
    relist_seconds: float
    resync_seconds: float
    lease: LeaseSettings | None
    health: Address
    parking_file: Path
    parking_bytes: int

    @property
    def kinds(self) -> tuple[Resource, ...]:
        """Everything that is watched, the primary kind first."""
        return (self.primary, *self.owned)


def load(environ: Mapping[str, str]) -> Settings:
    """Read the environment; raises SettingsError, which names the variable, its value and what would be right."""
    group = environ.get("WEBAPP_API_GROUP") or DEFAULT_GROUP
    primary = read(environ, "BRIDGE_PRIMARY", Resource.parse, webapp(group))
    if primary.group != group:
        raise SettingsError(f"BRIDGE_PRIMARY: {primary.plural} is not in group {group}; set WEBAPP_API_GROUP to match")
    tmp = Path("/tmp/parked.jsonl")  # noqa: S108 - an emptyDir in the pod
    concurrency = read(environ, "BRIDGE_CONCURRENCY", integer(1, 1000), 64)
    token = read(environ, "BRIDGE_OIDC_TOKEN", Path, OIDC_TOKEN)
    return Settings(
        group=group,
        primary=primary,
        owned=read(environ, "BRIDGE_OWNED", lambda text: tuple(map(Resource.parse, names(text))), OWNED),
        namespaces=read(environ, "WEBAPP_NAMESPACES", names, ()),
        cluster=environ.get("WEBAPP_CLUSTER", ""),
        sink=_destination(environ, "K_SINK", token, concurrency),
        extensions=read(environ, "K_CE_OVERRIDES", _extensions, {}),
        history=_history(environ),
        concurrency=concurrency,
        idle_seconds=read(environ, "BRIDGE_IDLE_SECONDS", seconds(1, 3600), 150.0),
        relist_seconds=read(environ, "BRIDGE_RELIST_SECONDS", seconds(1, 864000), 1800.0),
        resync_seconds=read(environ, "BRIDGE_RESYNC_SECONDS", seconds(1, 864000), 36000.0),
        lease=_lease(environ) if read(environ, "BRIDGE_LEASE", switch, default=True) else None,
        health=Address.load(environ, 8081, variable="BRIDGE_HEALTH_PORT", host="BRIDGE_HEALTH_HOST"),
        parking_file=read(environ, "BRIDGE_PARKING_FILE", Path, tmp),
        parking_bytes=read(environ, "BRIDGE_PARKING_BYTES", integer(128 * 1024, 1 << 30), 4 << 20),
    )


def _destination(environ: Mapping[str, str], name: str, token: Path | None, connections: int) -> Destination | None:
    url = read(environ, name, _url, "")
    if not url:
        return None
    return Destination(
        url=url,
        token=token,
        ca_certs=environ.get("K_CA_CERTS", ""),
        bundles=read(environ, "BRIDGE_TRUST_BUNDLES", Path, TRUST_BUNDLES),
        connections=connections,
        connect_seconds=read(environ, "BRIDGE_CONNECT_SECONDS", seconds(0.1, 60), 5.0),
        response_seconds=read(environ, "BRIDGE_RESPONSE_SECONDS", seconds(0.1, 900), 100.0),
    )


def _history(environ: Mapping[str, str]) -> HistorySettings | None:
    token: Path | None = None
    destination = _destination(environ, "BRIDGE_HISTORY_SINK", read(environ, "BRIDGE_HISTORY_TOKEN", Path, token), 1)
    if destination is None:
        return None
    return HistorySettings(
        destination,
        most_events=read(environ, "BRIDGE_HISTORY_EVENTS", integer(1, 1_000_000), 5000),
        most_bytes=read(environ, "BRIDGE_HISTORY_BYTES", integer(128 * 1024, 1 << 30), 8 << 20),
    )


def _lease(environ: Mapping[str, str]) -> LeaseSettings:
    return LeaseSettings(
        namespace=environ.get("BRIDGE_LEASE_NAMESPACE") or environ.get("POD_NAMESPACE") or SYSTEM_NAMESPACE,
        name=environ.get("BRIDGE_LEASE_NAME") or "webapp-bridge",
        identity=environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}",
    )


def _url(text: str) -> str:
    where = urlsplit(text)
    if where.scheme not in {"http", "https"} or not where.hostname:
        raise ValueError("must be an http or https URL, such as http://webapp-reconciler.webapp-system.svc")
    return text


def _extensions(text: str) -> dict[str, str]:
    """Knative's CloudEvent overrides as ready header values: {"extensions": {"name": "value"}}."""
    shape = 'expected {"extensions": {"name": "value"}}'
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"is not JSON ({error}); {shape}") from None
    match found:
        case {"extensions": dict(wanted)}:
            pass
        case {} if not found.get("extensions"):
            return {}
        case _:
            raise ValueError(f"has the wrong shape; {shape}")
    if bad := [name for name, value in wanted.items() if not isinstance(value, str)]:
        raise ValueError(f"extensions.{bad[0]} is {wanted[bad[0]]!r}; it must be a text")
    required = dict.fromkeys(attributes.REQUIRED, "x") | {"specversion": "1.0"}
    if clash := sorted(required.keys() & wanted.keys()):
        raise ValueError(f"extensions.{clash[0]} cannot be overridden; choose another name")
    try:
        attributes.checked({**required, **wanted}, prefix="extensions.")
    except MalformedEvent as error:
        raise ValueError(str(error)) from None
    return {name: header_value.encode(value) for name, value in wanted.items()}
