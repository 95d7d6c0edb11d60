"""Pure: the conditions of a WebApp, and the closed list of reasons they may have."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from functions.webapp import fields
from functions.webapp.fields import Int64
from functions.webapp.part import Part


class ConditionType(StrEnum):
    """The conditions that the operator sets; other types are other people's and stay."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"


class Reason(StrEnum):
    """Why a condition is what it is: a closed list, and part of the API."""

    AVAILABLE = "Available"
    PROGRESSING = "Progressing"
    MINIMUM_REPLICAS_UNAVAILABLE = "MinimumReplicasUnavailable"
    SCALED_TO_ZERO = "ScaledToZero"
    ROLLOUT_COMPLETE = "RolloutComplete"
    PROGRESS_DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
    REPLICA_FAILURE = "ReplicaFailure"
    NAME_CONFLICT = "NameConflict"
    QUOTA_EXCEEDED = "QuotaExceeded"
    ADMISSION_DENIED = "AdmissionDenied"
    FORBIDDEN = "Forbidden"
    INVALID_SPEC = "InvalidSpec"
    REJECTED = "Rejected"
    NAMESPACE_TERMINATING = "NamespaceTerminating"
    PAUSED = "Paused"
    AS_EXPECTED = "AsExpected"


class Condition(Part):
    """One aspect of the state, in the form of `metav1.Condition`."""

    type: Annotated[str, Field(min_length=1, max_length=316, pattern=fields.QUALIFIED_NAME)] = Field(
        description="The aspect: Ready, Progressing or Degraded.",
    )
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: Annotated[str, Field(min_length=1, max_length=1024, pattern=fields.CONDITION_REASON)] = Field(
        description="Why, in one CamelCase word for programs.",
    )
    message: Annotated[str, Field(max_length=32768)] = Field(description="Why, in a sentence for people.")
    last_transition_time: Annotated[str, Field(max_length=64, json_schema_extra={"format": "date-time"})] = Field(
        description="When status last changed.",
    )
    observed_generation: Int64 | None = Field(
        default=None,
        description="The metadata.generation that the condition speaks of.",
    )
