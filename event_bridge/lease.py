"""Who sends: a coordination.k8s.io Lease, held by at most one bridge, as client-go's leaderelection does it.

Fencing: the holder stops sending `renew_deadline_seconds` after its last successful renewal *began*, by its own clock;
others wait `duration_seconds` from when they saw that renewal, by theirs. The clock runs on while a machine sleeps
(CLOCK_BOOTTIME), so a process that was stopped and wakes up late finds that it may not send.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from event_bridge.settings import LeaseSettings
from functions.runtime import kube
from functions.runtime.kube import Sender
from functions.webapp.errors import ApiError, Conflict, NotFound
from functions.webapp.resources import LEASE, meta_text

REQUEST_SECONDS: Final = 5.0
_log = logging.getLogger("event_bridge")


def boottime() -> float:
    """Seconds since boot, sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """One candidate. `attempt` acquires or renews; `holds` may be asked from any thread."""

    def __init__(self, settings: LeaseSettings, api: Sender, clock: Callable[[], float] = boottime) -> None:
        self._settings, self._api, self._clock = settings, api, clock
        self._valid_until = float("-inf")
        self._lease: dict[str, Any] | None = None
        self._seen_at = 0.0
        self.holder = ""

    @property
    def holds(self) -> bool:
        """Whether a send may start now."""
        return self._clock() < self._valid_until

    def attempt(self) -> None:
        """Renew, acquire, or look who holds it. Raises ApiError where that is not known; `holds` stays right."""
        began = self._clock()
        if self._lease is None or self.holder != self._settings.identity:
            self._read()
        for _ in range(2):
            if not self._is_free(began):
                self._valid_until = float("-inf")
                return
            try:
                self._observe(self._api.send(self._claim(self._settings.identity), timeout=REQUEST_SECONDS))
            except Conflict:  # somebody was quicker, or only put an annotation on it
                self._read()
            else:
                self._valid_until = began + self._settings.renew_deadline_seconds
                return

    def release(self) -> None:
        """Let the next one lead at once; sending has stopped before."""
        held, self._valid_until = self.holds, float("-inf")
        if held and self._lease:
            self._api.send(self._claim(""), timeout=REQUEST_SECONDS)

    def _read(self) -> None:
        where = LEASE, self._settings.namespace, self._settings.name
        try:
            self._observe(self._api.send(kube.read(*where), timeout=REQUEST_SECONDS))
        except NotFound:
            self._lease, self.holder = None, ""

    def _observe(self, lease: dict[str, Any]) -> None:
        if self._lease is None or meta_text(lease, "resourceVersion") != meta_text(self._lease, "resourceVersion"):
            self._seen_at = self._clock()
        self._lease = lease
        self.holder = lease.get("spec", {}).get("holderIdentity") or ""

    def _is_free(self, now: float) -> bool:
        if self._lease is None or self.holder in {"", self._settings.identity}:
            return True
        seconds = self._lease.get("spec", {}).get("leaseDurationSeconds") or self._settings.duration_seconds
        return bool(now >= self._seen_at + seconds)

    def _claim(self, identity: str) -> kube.Call:
        """The write that makes `identity` the holder, at the resourceVersion that was read."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        old = self._lease or {}
        spec = dict(old.get("spec", {}))
        if identity != spec.get("holderIdentity"):
            spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + bool(self._lease and identity)
            spec["acquireTime"] = now
        spec |= {"holderIdentity": identity, "renewTime": now}
        spec["leaseDurationSeconds"] = self._settings.duration_seconds if identity else 1
        meta = {"namespace": self._settings.namespace, "name": self._settings.name}
        lease = {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": old.get("metadata", meta),
            "spec": spec,
        }
        return kube.put(LEASE, lease) if self._lease else kube.create(LEASE, lease)


class Election(threading.Thread):
    """Keeps trying; `changed` hears when this process starts and stops leading, `moved` when any holder changes."""

    def __init__(
        self, lease: Lease, settings: LeaseSettings, changed: Callable[[bool], None], moved: Callable[[], None]
    ) -> None:
        super().__init__(name="lease", daemon=True)
        self.failure = ""
        self.leading = False
        self._lease, self._settings, self._changed, self._moved = lease, settings, changed, moved
        self._ending = threading.Event()

    def run(self) -> None:
        """Attempt every `retry_seconds`, a little jittered."""
        while not self._ending.is_set():
            holder = self._lease.holder
            try:
                self._lease.attempt()
                self._tell("")
            except ApiError as error:
                self._tell(f"the lease {self._settings.namespace}/{self._settings.name} cannot be renewed: {error}")
            if holder != self._lease.holder:
                self._moved()
            if self._lease.holds != self.leading:
                self.leading = not self.leading
                _log.info(
                    "leading" if self.leading else "standing by", extra={"fields": {"holder": self._lease.holder}}
                )
                self._changed(self.leading)
            self._ending.wait(self._settings.retry_seconds * random.uniform(0.9, 1.1))  # noqa: S311 - jitter

    def stop(self) -> None:
        """Stop trying; the lease is kept until `Lease.release`."""
        self._ending.set()
        self.join(2 * REQUEST_SECONDS)

    def _tell(self, failure: str) -> None:
        if failure and not self.failure:
            _log.warning(failure)
        self.failure = failure
