"""The API calls of one reconcile: counted, within the deadline, dry where asked, with a bound on conflicts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.trace import Tracer, get_current_span

from functions.reconcile.report import MAX_ATTEMPTS, Report
from functions.runtime import kube, names, telemetry
from functions.runtime.instruments import Instruments
from functions.runtime.kube import Call, Sender
from functions.webapp.errors import AlreadyExists, ApiError, ConflictsExhausted, DeadlineExceeded, NotFound, TestFailed
from functions.webapp.resources import EVENT, RawObject, Resource, meta_text

_BACKOFF_SECONDS = (0.02, 0.5)


@dataclass(frozen=True)
class Means:
    """What a reconcile needs of the world; tests pass their own clock and sleep."""

    api: Sender
    resource: Resource
    tracer: Tracer
    instruments: Instruments = field(default_factory=lambda: Instruments(NoOpMeterProvider()))
    deadline_seconds: float = 20.0
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random


class Session:
    """Sends calls for one reconcile and keeps its report of them."""

    def __init__(self, means: Means, report: Report, *, dry_run: bool) -> None:
        self.means = means
        self.report = report
        self._dry_run = dry_run
        self._deadline = means.clock() + means.deadline_seconds
        self._conflict: dict[str, str | int | float] = {}

    def send(self, call: Call) -> dict[str, Any]:
        """The API server's answer; raises ApiError, or DeadlineExceeded before a call that has no time left."""
        left = self._deadline - self.means.clock()
        if left <= 0:
            raise DeadlineExceeded(f"{self.means.deadline_seconds:g} s were not enough; next would have been {call}")
        writes = call.method != "GET"
        told: dict[str, Any] = {"method": call.method, "path": call.resource.path(call.namespace, call.name, call.sub)}
        self.report.calls.append(told)
        asked = call.dry() if writes and self._dry_run else call
        try:
            answer = self.means.api.send(asked, timeout=min(left, kube.READ_SECONDS), attempt=self.report.attempts)
            self._tell_conflict(meta_text(answer, "resourceVersion"))
        except ApiError as error:
            told["error"] = error.error_type
            raise
        finally:
            self._tell_conflict("")
        watched = writes and call.resource != EVENT  # an echo of what nobody watches would never come
        if watched and not self._dry_run and (version := meta_text(answer, "resourceVersion")):
            self.report.wrote.append(f"{meta_text(answer, 'uid')}/{version}")
        return answer

    def look(self, resource: Resource, namespace: str, name: str) -> RawObject | None:
        """The object as it is now; None where it is not there."""
        try:
            return self.send(kube.read(resource, namespace, name))
        except NotFound:
            return None

    def conflict(self, error: ApiError, resource: Resource, sent: str) -> None:
        """Count a conflict and wait a little, with full jitter; raises ConflictsExhausted when enough is enough.

        `sent` is the resourceVersion that the refused write was made for.
        """
        report, (base, cap) = self.report, _BACKOFF_SECONDS
        report.conflicts += 1
        self.means.instruments.conflicts.add(1, {names.Attr.OBJECT_KIND: resource.kind})
        pause = self.means.random() * min(cap, base * 2**report.conflicts)
        self._conflict = {
            names.Attr.OBJECT_KIND: resource.kind,
            names.Attr.VERSION_SENT: sent,
            names.Attr.ATTEMPT: report.conflicts,
            names.Attr.ERROR_TYPE: error.error_type,
            names.Attr.BACKOFF: round(pause * 1000, 1),
        }
        if report.conflicts >= MAX_ATTEMPTS:
            self._tell_conflict("")
            raise ConflictsExhausted(f"{report.conflicts} conflicts in a row, the last: {error}") from error
        if not isinstance(error, AlreadyExists | TestFailed):  # those are news about the object, not a race
            self.means.sleep(pause)

    def _tell_conflict(self, found: str) -> None:
        """Put a conflict on the span once the next read has shown what is there instead."""
        if self._conflict:
            get_current_span().add_event(names.Mark.CONFLICT, {**self._conflict, names.Attr.VERSION_FOUND: found})
            self._conflict = {}

    def stamp(self) -> dict[str, str | None]:
        """The annotation by which a later trace can link to this one; absent (None) where nobody records this one.

        It goes into writes that happen anyway and into no others: a stamp alone would be a change, and so an event.
        """
        span = get_current_span()
        recorded = span.get_span_context().trace_flags.sampled
        return {
            f"{self.means.resource.group}/traceparent": telemetry.inject({}, span)["traceparent"] if recorded else None
        }
