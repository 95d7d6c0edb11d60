"""Which certificate authorities a sink may have: the system's, those that Knative names, and those that it mounts."""

from __future__ import annotations

import logging
import ssl
import threading
from contextlib import suppress
from pathlib import Path

from functions.runtime import credentials
from functions.runtime.rotation import Identity, identity
from functions.runtime.settings import SettingsError

_log = logging.getLogger("event_bridge")


class Trust:
    """The TLS context for new connections; bundles that were replaced are used from the next connection on.

    What `K_CA_CERTS` holds is text of the environment: it changes with a restart of the pod, which Knative causes.
    """

    def __init__(self, ca_certs: str, bundles: Path) -> None:
        """Raises SettingsError for what is no certificate."""
        self._ca_certs, self._bundles = ca_certs, bundles
        self._lock = threading.Lock()
        self._seen = self._files()
        self._context = self._load(self._seen)

    def context(self) -> ssl.SSLContext:
        """The context now; bundles that cannot be read leave it as it was, and a warning says so."""
        with self._lock:
            seen = self._files()
            if seen != self._seen:
                self._seen = seen
                try:
                    self._context = self._load(seen)
                except SettingsError as error:
                    fields = {"error": str(error), "folder": str(self._bundles)}
                    _log.warning(
                        "the new trust bundles cannot be used, the last good ones stay", extra={"fields": fields}
                    )
            return self._context

    def _files(self) -> dict[Path, Identity]:
        """What differs once a bundle came, went or was replaced."""
        found = {}
        for bundle in sorted(self._bundles.glob("*.pem")):
            with suppress(OSError):  # it went in between
                found[bundle] = identity(bundle)
        return found

    def _load(self, bundles: dict[Path, Identity]) -> ssl.SSLContext:
        context = credentials.context({})
        where = "K_CA_CERTS"
        try:
            if self._ca_certs:
                context.load_verify_locations(cadata=self._ca_certs)
            for bundle in bundles:
                where = str(bundle)
                context.load_verify_locations(cafile=bundle)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise SettingsError(f"{where}: {error}; it must hold certificates in PEM") from None
        return context
