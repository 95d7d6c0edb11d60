"""Asks Jaeger for traces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import urllib3

from functions.dev import otlp
from functions.dev.otlp import Span
from functions.dev.sender import checked
from functions.webapp.errors import WebAppError

LIMIT = 100
BACK = timedelta(days=7)
TIMEOUT_SECONDS = 10.0


class TraceError(WebAppError):
    """Jaeger does not answer, or does not know the trace; the message says which, and what to do."""

    error_type = "trace"


class Traces:
    """A client of Jaeger's query API, version 3; a context manager. `url` is where Jaeger's pages are."""

    def __init__(self, url: str) -> None:
        self.url = checked(url, "--jaeger").rstrip("/")
        self._http = urllib3.PoolManager(retries=False, timeout=TIMEOUT_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.clear()

    def get(self, trace_id: str) -> list[Span]:
        """The spans of one trace; none where Jaeger does not have it. Raises TraceError."""
        return otlp.spans(self._ask(f"/api/v3/traces/{trace_id}", {}).get("result", {}))

    def find(self, attributes: Mapping[str, str], service: str) -> list[Span]:
        """The spans of the newest traces of a service in which one span has all of the attributes."""
        now = datetime.now(UTC)
        since, until = (now - BACK).isoformat(), (now + timedelta(minutes=1)).isoformat()
        query = {"serviceName": service, "startTimeMin": since, "startTimeMax": until, "searchDepth": str(LIMIT)}
        snake = {"service_name": service, "start_time_min": since, "start_time_max": until}
        depths = {"search_depth": str(LIMIT), "num_traces": str(LIMIT)}  # the latter until version 2.1
        fields = {f"query.{name}": value for name, value in {**query, **snake, **depths}.items()}
        found = self._ask("/api/v3/traces", {**fields, "query.attributes": json.dumps(attributes)})
        spans = otlp.spans(found.get("result", {}))
        if len(_matching(spans, attributes)) < len({span.trace_id for span in spans}):
            spans = self._tagged(attributes, service)  # this Jaeger takes no attributes in version 3, and ignores them
        return spans

    def _tagged(self, attributes: Mapping[str, str], service: str) -> list[Span]:
        fields = {"service": service, "tags": json.dumps(attributes), "limit": str(LIMIT), "lookback": "custom"}
        ids = [each["traceID"] for each in self._ask("/api/traces", fields).get("data") or ()]
        return [span for trace_id in ids for span in self.get(trace_id)]

    def _ask(self, path: str, fields: Mapping[str, str]) -> dict[str, Any]:
        try:
            answer = self._http.request("GET", self.url + path, fields=dict(fields))
            body = answer.json()
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise TraceError(f"{self.url} does not answer as Jaeger's query service does: {error}") from None
        if answer.status == 404:
            return {}
        if answer.status != 200 or not isinstance(body, dict):
            raise TraceError(f"{self.url}{path} answered {answer.status}: {str(body)[:300]}")
        return body


def _matching(spans: list[Span], attributes: Mapping[str, str]) -> set[str]:
    return {span.trace_id for span in spans if attributes.items() <= span.attributes.items()}
