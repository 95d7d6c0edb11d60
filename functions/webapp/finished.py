"""Pure: the event that tells the history what one run of a reconcile did, built and read.

| attribute | value |
|---|---|
| type | `<reversed group>.reconcile.finished.v1` |
| id | `<id of the handled event>.<trace id>.<span id>`: one for each run, the same however often it is delivered |
| source, subject | those of the handled event; `causationid` is its id |
| time | when the run ended |
| traceparent | the span of the run: who records it is a part of its trace |

A broker sends it on, a bridge hands it to a history sink; no reconcile function handles it, so none can loop.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cloudevents.core.v1.event import CloudEvent

from functions.webapp import contract
from functions.webapp.contract import Cause, Change, Key
from functions.webapp.errors import UnknownEvent
from functions.webapp.json_object import JsonObject
from functions.webapp.outcome import Outcome

SUFFIX: Final = ".reconcile.finished.v1"
"""How the type of every such event ends, whatever the group of the WebApps."""

MAX_MESSAGE: Final = 1024
"""So much is kept of a message: what an API server answers may be longer than an event can be."""

_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_SPAN_ID = re.compile(r"[0-9a-f]{16}")
_HIDDEN = re.compile(r"/env(From)?(/|\Z)")


@dataclass(frozen=True, slots=True)
class Trigger:
    """The event that was handled; `coalesced` is how many changes it stood for."""

    id: str
    type: str
    source: str
    subject: str
    change: Change
    cause: Cause
    coalesced: int = 1


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a run failed: `type` is the error's name of few values, as in spans and metrics."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Finished:
    """One run. `plan` holds steps {verb, kind, name, operations?}, `calls` API calls {method, path, error?}."""

    webapp: Key
    outcome: Outcome
    trigger: Trigger
    trace_id: str
    span_id: str
    started_at: datetime
    duration_ms: float
    attempts: int = 1
    generation: int | None = None
    reason: str = ""
    message: str = ""
    plan: Sequence[Mapping[str, Any]] = ()
    calls: Sequence[Mapping[str, Any]] = ()
    requeue_after: int | None = None
    fault: Fault | None = None
    revision: str = ""

    @property
    def id(self) -> str:
        """The event's id."""
        return f"{self.trigger.id}.{self.trace_id}.{self.span_id}"


def event_type(group: str) -> str:
    """`com.example.platform.reconcile.finished.v1` for group platform.example.com."""
    return f"{contract.prefix(group)}{SUFFIX}"


def event(run: Finished, group: str, traceparent: str = "") -> CloudEvent:
    """The run as a CloudEvent; of what a patch sets, only plain values outside env are told (see `_told`)."""
    attributes = {
        "specversion": "1.0",
        "id": run.id,
        "type": event_type(group),
        "source": run.trigger.source,
        "subject": run.trigger.subject,
        "time": run.started_at + timedelta(milliseconds=run.duration_ms),
        "datacontenttype": "application/json",
        "causationid": run.trigger.id,
        "traceparent": traceparent,
    }
    trigger, fault = run.trigger, run.fault
    data = {
        "webapp": {"namespace": run.webapp.namespace, "name": run.webapp.name, "uid": run.webapp.uid},
        "outcome": str(run.outcome),
        "generation": run.generation,
        "reason": run.reason,
        "message": run.message[:MAX_MESSAGE],
        "plan": [_told(step) for step in run.plan],
        "calls": [dict(call) for call in run.calls],
        "attempts": run.attempts,
        "requeueAfterSeconds": run.requeue_after,
        "error": fault and {"type": fault.type, "message": fault.message[:MAX_MESSAGE]},
        "eventId": trigger.id,
        "traceId": run.trace_id,
        "spanId": run.span_id,
        "startedAt": run.started_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "durationMs": round(run.duration_ms, 3),
        "trigger": {
            "type": trigger.type,
            "source": trigger.source,
            "subject": trigger.subject,
            "change": str(trigger.change),
            "cause": str(trigger.cause),
            "coalesced": trigger.coalesced,
        },
        "revision": run.revision,
    }
    empty = (None, "")
    return CloudEvent(
        {name: value for name, value in attributes.items() if value not in empty},
        {name: value for name, value in data.items() if value not in empty},
    )


def parse(event: CloudEvent) -> Finished:
    """Read one, of any group. Raises UnknownEvent for another type, MalformedEvent, which names the field."""
    if not event.get_type().endswith(SUFFIX):
        raise UnknownEvent(f"type {event.get_type()!r} is no finished reconcile; expected <reversed group>{SUFFIX}")
    data = JsonObject(contract.payload(event), "data")
    trigger = data.member("trigger")
    error = data.member("error") if data.has("error") else None
    return Finished(
        webapp=contract.read_key(data.value("webapp"), "data.webapp"),
        outcome=data.one_of("outcome", Outcome),
        trigger=Trigger(
            id=data.text("eventId"),
            type=trigger.text("type"),
            source=trigger.text("source"),
            subject=trigger.text("subject", ""),
            change=trigger.one_of("change", Change),
            cause=trigger.one_of("cause", Cause),
            coalesced=trigger.integer("coalesced", 1, low=1),
        ),
        trace_id=data.text("traceId", form=_TRACE_ID),
        span_id=data.text("spanId", form=_SPAN_ID),
        started_at=data.moment("startedAt"),
        duration_ms=data.number("durationMs"),
        attempts=data.integer("attempts", 1, low=1),
        generation=data.integer("generation", None),
        reason=data.text("reason", ""),
        message=data.text("message", ""),
        plan=data.members("plan", ("verb", "kind", "name")),
        calls=data.members("calls", ("method", "path")),
        requeue_after=data.integer("requeueAfterSeconds", None),
        fault=Fault(error.text("type"), error.text("message", "")) if error else None,
        revision=data.text("revision", ""),
    )


def _told(step: Mapping[str, Any]) -> dict[str, Any]:
    """A step without secrets: a history is read by more people than a WebApp's env is meant for."""
    operations = [
        {name: value for name, value in each.items() if name != "value" or _is_plain(each)}
        for each in step.get("operations", ())
    ]
    return {**step, "operations": operations} if operations else dict(step)


def _is_plain(operation: Mapping[str, Any]) -> bool:
    return not _HIDDEN.search(operation["path"]) and not isinstance(operation["value"], Mapping | list)
