"""Pure: the types of a WebApp's conditions, and the closed list of reasons they may have."""

from __future__ import annotations

from enum import StrEnum


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
