"""One event in the hands of the function: what was asked for, what it means, what came of it so far."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cloudevents.core.v1.event import CloudEvent
from flask import Response, request
from opentelemetry.trace import get_current_span

from functions.reconcile.report import Report
from functions.runtime import telemetry, web
from functions.webapp import contract, envelope, finished
from functions.webapp.contract import WebAppEvent
from functions.webapp.errors import MalformedEvent
from functions.webapp.finished import Fault, Finished, Trigger
from functions.webapp.outcome import Outcome


@dataclass(frozen=True)
class Asked:
    """What the caller wants besides the reconcile."""

    report: bool = False
    reply: bool = False
    finished: bool = False
    dry_run: bool = False

    @staticmethod
    def for_a_report() -> bool:
        """Whether the current request prefers a representation."""
        return "return=representation" in web.preferences(request.headers.get("prefer"))

    @classmethod
    def of_request(cls) -> Asked:
        """Of the current request. Raises MalformedEvent for a dry run that does not exist."""
        wanted = web.preferences(request.headers.get("prefer"))
        dry_run = request.args.get("dryRun")
        if dry_run not in {None, "", "All"}:
            raise MalformedEvent("dryRun", f"{dry_run[:80]!r} is not a dry run that exists; use ?dryRun=All")
        report = cls.for_a_report() or bool(dry_run)
        return cls(report, "reply" in wanted, contract.PREFER_FINISHED in wanted, bool(dry_run))


@dataclass(slots=True)
class Handling:
    """Filled while the event is handled; `meant` stays None for an event that is no concern of ours."""

    event: CloudEvent
    asked: Asked = Asked()
    meant: WebAppEvent | None = None
    report: Report = field(default_factory=lambda: Report(contract.Key("", ""), Outcome.IGNORED))
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    begun: float = field(default_factory=time.monotonic)

    def milliseconds(self) -> float:
        """Since it began."""
        return (time.monotonic() - self.begun) * 1000

    def answer(self, group: str, revision: str) -> Response:
        """The answer of a run that came to its end, in the form that was asked for."""
        report = self.report
        if self.asked.report:
            trace = telemetry.trace_id(get_current_span())
            told = report.told(traceId=trace, eventId=self.event.get_id())
            found = web.document(told)
        elif event := self._finished(group, revision, None):
            headers, body = envelope.encode_binary(event)
            found = Response(body, 200, headers)
        else:
            found = Response(status=204)
        found.headers[contract.ANSWER_OUTCOME] = str(report.outcome)
        if report.wrote:
            found.headers[contract.ANSWER_WROTE] = " ".join(report.wrote)
        if report.requeue_after is not None:
            found.headers[contract.ANSWER_REQUEUE_AFTER] = str(report.requeue_after)
        return found

    def failure(self, group: str, revision: str, fault: Fault) -> dict[str, Any]:
        """What a refusal of an understood event says besides: its finished event, where that was asked for."""
        event = self._finished(group, revision, fault) if self.asked.finished else None
        return {contract.PROBLEM_FINISHED: envelope.to_json(event)} if event else {}

    def _finished(self, group: str, revision: str, fault: Fault | None) -> CloudEvent | None:
        meant, report = self.meant, self.report
        if meant is None or not self.asked.reply or self.asked.report:
            return None
        span = get_current_span()
        context = span.get_span_context()
        run = Finished(
            webapp=report.webapp,
            outcome=Outcome.FAILED if fault else report.outcome,
            trigger=Trigger(
                *(meant.id, meant.type, meant.source, meant.subject, meant.change, meant.cause, meant.coalesced)
            ),
            trace_id=f"{context.trace_id:032x}",
            span_id=f"{context.span_id:016x}",
            started_at=self.started_at,
            duration_ms=self.milliseconds(),
            attempts=report.attempts,
            generation=report.generation,
            reason=report.reason,
            message=report.message,
            plan=report.plan,
            calls=report.calls,
            requeue_after=report.requeue_after,
            fault=fault,
            revision=revision,
        )
        return finished.event(run, group, telemetry.inject({}, span).get("traceparent", ""))
