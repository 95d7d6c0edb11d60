"""One run of `webapp certs`: everything that is due, in an order in which no call fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from functions.certs.rotation import Terms, plan
from functions.certs.store import Store

SERVICES = ("webapp-admission", "webapp-authn", "webapp-history")
"""The Services that kube-apiserver calls."""

_SETTLE_SECONDS = 5.0


@dataclass(frozen=True)
class Run:
    """`settle` seconds pass between a new bundle and new certificates, for API servers to hear of the bundle."""

    store: Store
    namespace: str
    services: Sequence[str] = SERVICES
    terms: Terms = field(default_factory=Terms)
    settle: float = _SETTLE_SECONDS
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    sleep: Callable[[float], None] = time.sleep

    def certify(self, *, rotate: bool = False) -> list[str]:
        """Do what is due and say what was done; nothing is written where nothing is due. Raises ApiError."""
        hosts = {service: f"{service}.{self.namespace}.svc" for service in self.services}
        wanted = plan(
            self.store.authorities(),
            {host: self.store.server(service) for service, host in hosts.items()},
            self.now(),
            self.terms,
            rotate=rotate,
        )
        done = list(wanted.notes)
        bundle = wanted.authorities.bundle
        self.store.keep_authorities(wanted.authorities)  # first of all: a bundle without its key could sign nothing
        trusting = self.store.trust(self.services, bundle)
        done += [f"caBundle written: {each}" for each in trusting]
        if trusting and wanted.renewed:
            self.sleep(self.settle)
        for service, host in hosts.items():
            if self.store.keep_server(service, wanted.servers[host], bundle):
                done.append(f"Secret written: {service}-tls")
        return done
