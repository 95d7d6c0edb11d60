"""The API server's audit log: which requests a user made since a moment."""

import json
import time
from pathlib import Path
from typing import Any

from functions.webapp.resources import SYSTEM_NAMESPACE

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitManagedFields": True,
    "rules": [
        {"level": "Metadata", "userGroups": [f"system:serviceaccounts:{SYSTEM_NAMESPACE}"]},
        {"level": "None"},
    ],
}
SETTLE_SECONDS = 2.0
POLL_SECONDS = 0.02


class AuditLog:
    """Reads an audit log of JSON lines while the API server writes it.

    A request is written down before it is handled, so it is in the log once its answer has arrived; its response code
    follows a moment later.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def mark(self) -> int:
        """The moment now, to be given as `since`."""
        return self._path.stat().st_size if self._path.exists() else 0

    def requests(self, user: str, since: int = 0) -> list[dict[str, Any]]:
        """One audit event per request of `user`, in the order of their arrival, with the last stage known of each.

        Waits a moment for the response of every request but watches, which stay open.
        """
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            found = self._read(user, since)
            if time.monotonic() > deadline or all(_settled(event) for event in found):
                return found
            time.sleep(POLL_SECONDS)

    def _read(self, user: str, since: int) -> list[dict[str, Any]]:
        if not self._path.exists():
            return []
        with self._path.open("rb") as log:
            log.seek(since)
            whole, _, _ = log.read().rpartition(b"\n")
        latest: dict[str, dict[str, Any]] = {}
        for line in whole.splitlines():
            event = json.loads(line)
            begun = event["stage"] == "RequestReceived" or event["auditID"] in latest
            if begun and event["user"]["username"] == user:
                latest[event["auditID"]] = event
        return list(latest.values())


def _settled(event: dict[str, Any]) -> bool:
    return event["verb"] == "watch" or "responseStatus" in event
