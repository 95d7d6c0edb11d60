"""The terms on which the front proxy is trusted, as the cluster has them now: read at the start, then watched.

A change that cannot be used, and a ConfigMap that is taken away, change nothing but the log.
"""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

from functions.aggregation.requestheader import NAME, NAMESPACE, RequestHeader, RequestHeaderError
from functions.runtime.kube import Api, Call, LineStream, read
from functions.webapp.errors import ApiError, Forbidden, NotFound
from functions.webapp.resources import Resource, meta_text

_CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps")
_WATCH_SECONDS = 120
_SLACK_SECONDS = 15
_PAUSE_SECONDS = 1.0
_ERROR_PAUSE_SECONDS = 5.0

_log = logging.getLogger(__name__)


def load(api: Api) -> RequestHeader:
    """The terms now; raises RequestHeaderError, which says what a cluster without them lacks."""
    try:
        return RequestHeader.of(api.send(read(_CONFIG_MAP, NAMESPACE, NAME)))
    except NotFound as error:
        raise RequestHeaderError(
            f"ConfigMap {NAMESPACE}/{NAME} is not there: kube-apiserver writes it when it is started with "
            "--requestheader-client-ca-file, --requestheader-username-headers, --requestheader-group-headers and "
            "--requestheader-extra-headers-prefix"
        ) from error
    except Forbidden as error:
        raise RequestHeaderError(
            f"ConfigMap {NAMESPACE}/{NAME} may not be read: bind the Role {NAME}-reader of {NAMESPACE} to this "
            f"ServiceAccount ({error})"
        ) from error
    except ApiError as error:
        raise RequestHeaderError(f"ConfigMap {NAMESPACE}/{NAME} cannot be read: {error}") from error


class Terms:
    """Called, it gives the terms of the moment."""

    def __init__(self, first: RequestHeader) -> None:
        self._now = first
        self._over = threading.Event()
        self._stream: LineStream | None = None

    def __call__(self) -> RequestHeader:
        """The newest good terms."""
        return self._now

    def authorities(self) -> bytes:
        """What a handshake verifies client certificates by, as PEM.

        Also users' certificates: they get an answer that says why they are no use here, not a broken connection.
        """
        return self._now.authorities + self._now.clients

    def follow(self, api: Api) -> None:
        """Keep up with the cluster, in a thread, until `close`."""
        threading.Thread(target=self._run, args=(api,), name="front-proxy-terms", daemon=True).start()

    def close(self) -> None:
        """Stop following."""
        self._over.set()
        if self._stream:
            self._stream.close()

    def _run(self, api: Api) -> None:
        pause = 0.0
        while not self._over.wait(pause):
            try:
                self._watch(api)
                pause = _PAUSE_SECONDS
            except Exception as error:  # noqa: BLE001 - whatever it was: without this thread no change would ever count
                pause = _ERROR_PAUSE_SECONDS
                if not self._over.is_set():
                    _log.warning("the front proxy's terms cannot be watched, the last ones hold", exc_info=error)

    def _watch(self, api: Api) -> None:
        found = api.send(read(_CONFIG_MAP, NAMESPACE, NAME))
        self._take(found)
        params = {
            "watch": "true",
            "fieldSelector": f"metadata.name={NAME}",
            "resourceVersion": meta_text(found, "resourceVersion"),
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        call = Call("GET", _CONFIG_MAP, NAMESPACE, params=tuple(params.items()), step="watch")
        self._stream = api.stream(call, idle=_WATCH_SECONDS + _SLACK_SECONDS)
        for line in self._stream:
            event = json.loads(line)
            if event["type"] in {"ADDED", "MODIFIED"}:
                self._take(event["object"])
            else:
                return  # deleted, or an error: read again, and tell what is wrong

    def _take(self, config: dict[str, Any]) -> None:
        try:
            found = RequestHeader.of(config)
        except RequestHeaderError as error:
            _log.warning("the front proxy's new terms cannot be used, the last good ones hold", exc_info=error)
            return
        if found != self._now:
            self._now = found
            fields = {"allowed": sorted(found.allowed), "authorities": len(found.certificates())}
            _log.info("the front proxy has new terms", extra={"fields": fields})
