"""Pure: reconciles as kubectl shows and explains them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from functions.aggregation.collection import Object
from functions.aggregation.kind import AGE, NAME, Column, Kind
from functions.history.action import DONE
from functions.history.record import (
    CATEGORY,
    OUTCOME_FIELD,
    OUTCOMES,
    SHORT_NAME,
    TRIGGER_LABEL,
    WEBAPP_FIELD,
    resource,
)

FIELDS: Final = frozenset({OUTCOME_FIELD, WEBAPP_FIELD})
"""What field selectors may name besides name and namespace."""

_NONE: Final = "<none>"
_DONE: Final = {"create": "created", "patch": "updated", "update": "updated", "delete": "deleted"}
_DESCRIPTION: Final = (
    "One run of the reconcile function for one WebApp: why it ran, what it changed, how it ended, and the trace that"
    " tells the rest. Runs are recorded when they are over and are never changed; old ones go away."
)

Cell = Callable[[Object, datetime], str | int | float | bool | None]


def kind(group: str) -> Kind:
    """Reconciles in an API group."""
    return Kind(
        resource=resource(group),
        singular="reconcile",
        description=_DESCRIPTION,
        columns=_COLUMNS,
        properties=_PROPERTIES,
        short_names=(SHORT_NAME,),
        categories=(CATEGORY,),
        fields=FIELDS,
    )


def changes(actions: list[dict[str, str]]) -> str:
    """What was written, such as `1 created, 2 updated`; `none` where nothing was."""
    done = Counter(_DONE.get(each["verb"], each["verb"]) for each in actions if each["result"] == DONE)
    order = [*dict.fromkeys(_DONE.values()), *sorted(set(done) - set(_DONE.values()))]
    return ", ".join(f"{done[each]} {each}" for each in order if done[each]) or "none"


def duration(milliseconds: float) -> str:
    """A duration with three digits that count: `8.25ms`, `412ms`, `1.5s`."""
    if milliseconds < 1000:
        return f"{milliseconds:.3g}ms"
    return f"{milliseconds / 1000:.3g}s" if milliseconds < 1_000_000 else f"{milliseconds / 1000:.0f}s"


def _at(path: str, default: str | None = _NONE) -> Cell:
    def cell(obj: Object, _now: datetime) -> str | int | float | bool | None:
        found: Any = obj
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return default if found is None else found

    return cell


def _label(name: str) -> Cell:
    return lambda obj, _now: obj["metadata"].get("labels", {}).get(name, _NONE)


_COLUMNS: Final = (
    NAME,
    Column("WebApp", "The WebApp that was reconciled.", _at(WEBAPP_FIELD)),
    Column("Trigger", "The event that made it run.", _label(TRIGGER_LABEL)),
    Column("Outcome", "How it ended.", _at(OUTCOME_FIELD)),
    Column("Changes", "What it wrote.", lambda obj, _now: changes(obj["status"].get("actions", []))),
    Column("Duration", "How long it took.", lambda obj, _now: duration(obj["status"].get("durationMs", 0))),
    AGE,
    Column("Reason", "Why it ended so.", _at("status.reason"), priority=1),
    Column(
        "Generation", "The generation it saw.", _at("status.observedGeneration", None), "integer", "int64", priority=1
    ),
    Column("Attempt", "How many plans it made.", _at("status.attempt", None), "integer", "int64", priority=1),
    Column("Trace", "Opened by `webapp trace --id`.", _at("status.trace.traceID"), priority=1),
    Column("Event", "The id of the event.", _at("spec.trigger.eventID"), priority=1),
    Column("Revision", "The Knative revision that ran.", _at("status.revision"), priority=1),
)


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _object(description: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "description": description, "properties": properties}


_PROPERTIES: Final = {
    "spec": _object(
        "What was to be done, and why.",
        webAppRef=_object(
            "The WebApp, in the same namespace; it may be gone by now.",
            name=_text("Its name."),
            uid=_text("Its uid, which tells it from others of that name."),
        ),
        trigger=_object(
            "The event that the run was for.",
            type=_text("Its CloudEvents type."),
            eventID=_text("Its CloudEvents id."),
            source=_text("Its CloudEvents source, which names the cluster and the resource."),
            subject=_text("The API path of the object that had changed."),
            change=_text("What had happened to the object.", enum=["added", "modified", "deleted", "sync"]),
            cause=_text("Why the event was sent."),
            coalesced={"type": "integer", "format": "int32", "description": "How many changes the event stood for."},
        ),
    ),
    "status": _object(
        "What was done.",
        outcome=_text(
            "How it ended: Converged (it wrote what was missing), NoChange, Retry (it will be tried again), Failed"
            " (somebody has to act), Superseded (the WebApp was replaced), Gone (deleted, or being deleted).",
            enum=list(dict.fromkeys(OUTCOMES.values())),
        ),
        reason=_text("The reason of the WebApp's Ready condition, or of a failure."),
        observedGeneration={"type": "integer", "format": "int64", "description": "The generation of the WebApp."},
        startTime=_text("When it began.", format="date-time"),
        completionTime=_text("When it was over.", format="date-time"),
        durationMs={"type": "number", "format": "double", "description": "How long it took, in milliseconds."},
        attempt={"type": "integer", "format": "int32", "description": "How many plans it made; more after conflicts."},
        actions={
            "type": "array",
            "description": "Each write: those that were made, then those that were refused. Never their values.",
            "items": _object(
                "One write.",
                verb=_text("create, patch, delete or update."),
                kind=_text("The kind of the object."),
                name=_text("The name of the object."),
                result=_text(f"{DONE}, or the name of the error."),
            ),
        },
        error=_object(
            "What went wrong; absent where nothing did.",
            reason=_text("Its name."),
            message=_text("What it says."),
        ),
        trace=_object(
            "The trace of the run: `webapp trace --id` and Jaeger know it.",
            traceID=_text("The trace."),
            spanID=_text("The span of the run in it."),
        ),
        revision=_text("The Knative revision of the function."),
    ),
}
