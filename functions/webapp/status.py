"""Pure: the status of a WebApp, told from what was observed and never from what is wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from functions.webapp.condition import ConditionType, Reason
from functions.webapp.resources import RawObject, metadata

_MESSAGE_LIMIT = 512
_VOLATILE = re.compile(r', requested: .*|(?:(?<=\bpods)|(?<=\bPod)) "[^"]*"', re.DOTALL)

FAILURES = frozenset(
    {
        Reason.PROGRESS_DEADLINE_EXCEEDED,
        Reason.REPLICA_FAILURE,
        Reason.NAME_CONFLICT,
        Reason.QUOTA_EXCEEDED,
        Reason.ADMISSION_DENIED,
        Reason.FORBIDDEN,
        Reason.INVALID_SPEC,
        Reason.REJECTED,
        Reason.NAMESPACE_TERMINATING,
    }
)
"""Reasons that somebody has to do something about: they make Degraded true and are told as Warning Events."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a child could not be written, or the spec not be read; the message is the same from run to run."""

    reason: Reason
    message: str

    def __post_init__(self) -> None:
        """Take out what changes by itself, such as random names of pods, and cut to what a condition should hold."""
        text = _VOLATILE.sub("", self.message)
        object.__setattr__(self, "message", text if len(text) <= _MESSAGE_LIMIT else f"{text[: _MESSAGE_LIMIT - 1]}…")


@dataclass(frozen=True, slots=True)
class Observation:
    """What a status is made from. `deployment` is the owned Deployment, None where there is none."""

    deployment: RawObject | None
    url: str | None
    selector: str
    paused: bool = False
    failure: Failure | None = None


def status(webapp: RawObject, seen: Observation, now: datetime) -> dict[str, Any]:
    """The whole status that `webapp` should have; equal to the one it has where nothing is new."""
    generation = metadata(webapp).get("generation")
    before = webapp.get("status")
    before = before if isinstance(before, dict) else {}
    counts = _Rollout.of(seen.deployment)
    found: dict[str, Any] = {
        "observedGeneration": generation,
        "replicas": counts.replicas,
        "readyReplicas": counts.ready,
        "updatedReplicas": counts.updated,
        "availableReplicas": counts.available,
        "selector": seen.selector,
        **({"url": seen.url} if seen.url else {}),
    }
    wanted = _conditions(seen, counts)
    conditions = found["conditions"] = []
    for previous in _list(before.get("conditions")):  # in their old order; other people's stay
        told = wanted.pop(str(previous.get("type")), None) if isinstance(previous, dict) else None
        conditions.append(_condition(previous, told, generation, now) if told else previous)
    conditions += [_condition({"type": str(each)}, told, generation, now) for each, told in wanted.items()]
    return found


def condition(status: object, type_: ConditionType) -> RawObject:
    """The condition of that type in a raw status; empty where it has none."""
    conditions = _list(status.get("conditions")) if isinstance(status, dict) else []
    return next((each for each in conditions if isinstance(each, dict) and each.get("type") == type_), {})


@dataclass(frozen=True, slots=True)
class _Rollout:
    """What a Deployment says about its pods; `wanted` is None where there is no Deployment."""

    wanted: int | None = None
    replicas: int = 0
    ready: int = 0
    updated: int = 0
    available: int = 0
    current: bool = False
    trouble: Failure | None = None

    @classmethod
    def of(cls, deployment: RawObject | None) -> _Rollout:
        if deployment is None:
            return cls()
        spec, told = _map(deployment.get("spec")), _map(deployment.get("status"))
        observed, generation = told.get("observedGeneration"), metadata(deployment).get("generation")
        return cls(
            wanted=_count(spec.get("replicas"), 1),
            replicas=_count(told.get("replicas")),
            ready=_count(told.get("readyReplicas")),
            updated=_count(told.get("updatedReplicas")),
            available=_count(told.get("availableReplicas")),
            current=isinstance(observed, int) and isinstance(generation, int) and observed >= generation,
            trouble=_trouble(told),
        )

    @property
    def complete(self) -> bool:
        return self.current and self.updated == self.wanted == self.replicas


_Told = tuple[str, Reason, str]


def _conditions(seen: Observation, rollout: _Rollout) -> dict[str, _Told]:
    ready, progressing = _ready(rollout), _progressing(rollout)
    if seen.paused:
        ready = (ready[0], Reason.PAUSED, "spec.paused is set: Deployment, Service and Ingress are left as they are")
        progressing = ("False", Reason.PAUSED, ready[2])
    trouble = seen.failure or rollout.trouble
    if trouble is None:
        degraded = ("False", Reason.AS_EXPECTED, "")
    else:
        degraded = ("True", trouble.reason, trouble.message)
        if seen.failure or ready[0] != "True":
            ready = ("False", trouble.reason, trouble.message)
    return {ConditionType.READY: ready, ConditionType.PROGRESSING: progressing, ConditionType.DEGRADED: degraded}


def _ready(rollout: _Rollout) -> _Told:
    if rollout.wanted is None:
        return "False", Reason.PROGRESSING, "there is no Deployment yet"
    if not rollout.complete:
        return "False", Reason.PROGRESSING, "the rollout is not complete"
    if rollout.wanted == 0:
        return "True", Reason.SCALED_TO_ZERO, "no replicas are wanted"
    if rollout.available < rollout.wanted:
        return "False", Reason.MINIMUM_REPLICAS_UNAVAILABLE, f"{rollout.available} of {rollout.wanted} are available"
    return "True", Reason.AVAILABLE, f"{rollout.available} of {rollout.wanted} are available"


def _progressing(rollout: _Rollout) -> _Told:
    if rollout.trouble is not None and rollout.trouble.reason is Reason.PROGRESS_DEADLINE_EXCEEDED:
        return "False", rollout.trouble.reason, rollout.trouble.message
    if rollout.complete:
        return "False", Reason.ROLLOUT_COMPLETE, ""
    if not rollout.current:
        return "True", Reason.PROGRESSING, "waiting for the Deployment controller"
    return "True", Reason.PROGRESSING, f"{rollout.updated} of {rollout.wanted} run the newest template"


def _trouble(told: RawObject) -> Failure | None:
    """What the Deployment controller complains of, in its own words (`apps/v1` DeploymentConditionType)."""
    by_type = {str(each.get("type")): each for each in _list(told.get("conditions")) if isinstance(each, dict)}
    failed, progress = by_type.get("ReplicaFailure", {}), by_type.get("Progressing", {})
    if failed.get("status") == "True":
        return Failure(Reason.REPLICA_FAILURE, str(failed.get("message") or "pods cannot be created"))
    if progress.get("status") == "False" and progress.get("reason") == "ProgressDeadlineExceeded":
        return Failure(Reason.PROGRESS_DEADLINE_EXCEEDED, str(progress.get("message") or "the rollout takes too long"))
    return None


def _condition(before: RawObject, told: _Told, generation: object, now: datetime) -> dict[str, Any]:
    """One condition; lastTransitionTime moves only when the status flips (KEP-1623)."""
    status, reason, message = told
    kept = before.get("lastTransitionTime") if before.get("status") == status else None
    return {
        "type": before["type"],
        "status": status,
        "reason": str(reason),
        "message": message,
        "lastTransitionTime": kept or now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "observedGeneration": generation,
    }


def _map(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}


def _list(found: object) -> list[Any]:
    return found if isinstance(found, list) else []


def _count(found: object, default: int = 0) -> int:
    return found if isinstance(found, int) and not isinstance(found, bool) else default
