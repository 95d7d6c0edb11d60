"""Sends events to a function and reads its reports."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Self
from urllib.parse import urlsplit

import urllib3
from cloudevents.core.v1.event import CloudEvent

from functions.dev import answer
from functions.dev.answer import Answer
from functions.webapp import envelope
from functions.webapp.errors import WebAppError

REPORT = {"prefer": "return=representation"}
TIMEOUT_SECONDS = 100.0
"""As long as the bridge waits: a cold start and a reconcile up to its deadline fit in."""


class BadUrl(WebAppError):
    """No http or https URL; the message shows it."""

    error_type = "bad_url"


def checked(url: str, option: str = "--to") -> str:
    """The URL, with a path. Raises BadUrl, which names the option."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise BadUrl(f"{option} {url!r}: is not an http or https URL, such as http://127.0.0.1:8080")
    return url if parts.path else f"{url}/"


class Sender:
    """Sends to one URL over connections that are kept; a context manager. Raises BadUrl when it is none."""

    def __init__(self, url: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        self.url = checked(url)
        self._pool = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(connect=5.0, read=timeout))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.clear()

    def send(self, event: CloudEvent, *, dry_run: bool = False) -> Answer:
        """Send the event in structured mode and ask for a report; an event that did not arrive is an answer too."""
        headers, body = envelope.encode_structured(event)
        return self.post(headers | REPORT, body, query="?dryRun=All" if dry_run else "")[0]

    def post(
        self, headers: Mapping[str, str], body: bytes, query: str = ""
    ) -> tuple[Answer, urllib3.BaseHTTPResponse | None]:
        """Send as it is; the response is None where none came."""
        begun = time.monotonic()
        try:
            response = self._pool.request("POST", self.url + query, body=body, headers=dict(headers), redirect=False)
        except urllib3.exceptions.HTTPError as error:
            ms = (time.monotonic() - begun) * 1000
            return Answer(0, round(ms, 1), detail=f"{self.url} did not answer: {error}"), None
        ms = (time.monotonic() - begun) * 1000
        found = {name.lower(): value for name, value in response.headers.items()}
        return answer.read(response.status, found, response.data, ms), response
