"""Pure: one finished reconcile as a row of the history, and a row as the Kubernetes object that it is read as.

The same event gives the same row whoever delivers it: uid and name are made from its source and id.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from functions.history.action import actions
from functions.webapp.errors import MalformedEvent
from functions.webapp.finished import Finished, Trigger
from functions.webapp.outcome import Outcome
from functions.webapp.resources import Resource

DEFAULT_GROUP: Final = "history.platform.example.com"
VERSION: Final = "v1alpha1"
KIND: Final = "Reconcile"
PLURAL: Final = "reconciles"
SHORT_NAME: Final = "rec"
CATEGORY: Final = "platform"

WEBAPP_LABEL: Final = "webapp"
OUTCOME_LABEL: Final = "outcome"
TRIGGER_LABEL: Final = "trigger"

WEBAPP_FIELD: Final = "spec.webAppRef.name"
OUTCOME_FIELD: Final = "status.outcome"

MAX_LABEL: Final = 63
"""A longer value is no label (apimachinery `pkg/util/validation`): the object goes without it."""

OUTCOMES: Final = {
    Outcome.CREATED: "Converged",
    Outcome.UPDATED: "Converged",
    Outcome.UNCHANGED: "NoChange",
    Outcome.BLOCKED: "Failed",
    Outcome.FAILED: "Retry",
    Outcome.STALE: "Superseded",
    Outcome.DELETING: "Gone",
    Outcome.GONE: "Gone",
}
"""What a run is called in the history; one that was ignored never gets there."""

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_LETTERS, _HASH_LETTERS = 10, 16
_NO_LABEL = re.compile(r"[^A-Za-z0-9_.-]+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Record:
    """One row as it is written: what is searched by has a member of its own, `body` is {spec, status} as ASCII JSON.

    `started` is in microseconds of the epoch.
    """

    uid: str
    namespace: str
    name: str
    webapp: str
    outcome: str
    trigger: str
    started: int
    body: str


def resource(group: str = DEFAULT_GROUP) -> Resource:
    """The resource that the history is served as."""
    return Resource(group, VERSION, KIND, PLURAL)


def record(source: str, event_id: str, run: Finished) -> Record:
    """The row for a run that an event told of; the run must not have been ignored.

    Raises MalformedEvent for a time that no Kubernetes object can tell.
    """
    if run.started_at < _EPOCH:
        raise MalformedEvent("data.startedAt", f"{run.started_at:%FT%TZ} is before 1970")
    digest = hashlib.sha256(f"{source}\0{event_id}".encode()).digest()
    started = (run.started_at - _EPOCH) // timedelta(microseconds=1)
    return Record(
        uid=str(uuid.UUID(bytes=digest[:16], version=5)),
        namespace=run.webapp.namespace,
        name=f"{run.webapp.name[: 253 - 27].rstrip('-.')}-{_sortable(started // 1000, digest)}",
        webapp=run.webapp.name,
        outcome=OUTCOMES[run.outcome],
        trigger=trigger_label(run.trigger),
        started=started,
        body=json.dumps({"spec": _spec(run), "status": _status(run)}, separators=(",", ":")),
    )


def to_object(row: Mapping[str, Any], group: str, version: int) -> dict[str, Any]:
    """The object as it is at `version`; `row` has the members of a Record by their names."""
    labels = {WEBAPP_LABEL: row["webapp"], OUTCOME_LABEL: row["outcome"], TRIGGER_LABEL: row["trigger"]}
    told = json.loads(row["body"])
    return {
        "apiVersion": f"{group}/{VERSION}",
        "kind": KIND,
        "metadata": {
            "name": row["name"],
            "namespace": row["namespace"],
            "uid": row["uid"],
            "resourceVersion": str(version),
            "creationTimestamp": f"{told['status']['startTime'][:19]}Z",
            "labels": {key: value for key, value in labels.items() if 0 < len(value) <= MAX_LABEL},
        },
        **told,
    }


def trigger_label(trigger: Trigger) -> str:
    """`webapp.modified` for this project's events, `apiserver.ref.update` for Knative's, always fit for a label."""
    parts = trigger.type.removesuffix(".v1").split(".")
    kept = parts[-2:] if parts[-1] == trigger.change else parts[-3:]
    return _NO_LABEL.sub("-", ".".join(kept))[:MAX_LABEL].strip("-_.")


def _sortable(millis: int, digest: bytes) -> str:
    """26 letters and digits that sort by time first, as a ULID's do (10 of time, 16 of a digest)."""
    number = (max(0, millis) << 80) | int.from_bytes(digest[-10:], "big")
    places = range(_TIME_LETTERS + _HASH_LETTERS - 1, -1, -1)
    return "".join(_ALPHABET[number >> (5 * place) & 31] for place in places)


def _spec(run: Finished) -> dict[str, Any]:
    trigger = run.trigger
    return {
        "webAppRef": _present({"name": run.webapp.name, "uid": run.webapp.uid}),
        "trigger": _present(
            {
                "type": trigger.type,
                "eventID": trigger.id,
                "source": trigger.source,
                "subject": trigger.subject,
                "change": str(trigger.change),
                "cause": str(trigger.cause),
                "coalesced": trigger.coalesced,
            }
        ),
    }


def _status(run: Finished) -> dict[str, Any]:
    return _present(
        {
            "outcome": OUTCOMES[run.outcome],
            "reason": run.reason,
            "observedGeneration": run.generation,
            "startTime": _moment(run.started_at),
            "completionTime": _moment(_ended(run)),
            "durationMs": round(run.duration_ms, 3),
            "attempt": run.attempts,
            "actions": actions(run),
            "error": _error(run),
            "trace": {"traceID": run.trace_id, "spanID": run.span_id},
            "revision": run.revision,
        }
    )


def _ended(run: Finished) -> datetime:
    try:
        return run.started_at + timedelta(milliseconds=run.duration_ms)
    except OverflowError:
        raise MalformedEvent("data.durationMs", f"{run.duration_ms:g} ends after the year 9999") from None


def _error(run: Finished) -> dict[str, str] | None:
    if run.fault is not None:
        return _present({"reason": run.fault.type, "message": run.fault.message})
    if run.outcome is Outcome.BLOCKED:
        return _present({"reason": run.reason, "message": run.message})
    return None


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    empty: Sequence[object] = (None, "", [], {})
    return {name: value for name, value in members.items() if value not in empty}


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
