"""What the webhooks count, on `/metrics` of the health port. Names of objects are never labels."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

from functions.admission.verdict import Reason, Verdict
from functions.runtime.names import Metric

_OPERATIONS = ("CREATE", "UPDATE")
_DECISIONS = {Reason.INJECTED: ("patched",), Reason.VIOLATION: ("denied",)}
_MUTATE = (
    Reason.INJECTED,
    Reason.ALREADY_INJECTED,
    Reason.OPTED_OUT,
    Reason.MIRROR_POD,
    Reason.DELETED,
    Reason.WINDOWS,
    Reason.HOST_PORTS,
    Reason.NAME_TAKEN,
    Reason.RUNS_TO_COMPLETION,
    Reason.NO_LOG_VOLUME,
    Reason.NOT_OURS,
)
_VALIDATE = (
    Reason.COMPLIANT,
    Reason.VIOLATION,
    Reason.UNCHANGED,
    Reason.DELETED,
    Reason.TEMPLATE_VIOLATION,
    Reason.NOT_OURS,
)


class Figures:
    """One counter, every label set of which starts at 0, so that a rate over it is right from the first event on."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("webhook", "operation", "decision", "reason")
        self._decisions = Counter(Metric.ADMISSION, "Verdicts of the admission webhooks.", labels, registry=registry)
        for webhook, operations, reasons in (("mutate", ("CREATE",), _MUTATE), ("validate", _OPERATIONS, _VALIDATE)):
            for operation in operations:
                for reason in reasons:
                    for decision in _DECISIONS.get(reason, ("allowed",)):
                        self._decisions.labels(webhook, operation, decision, str(reason))

    def count(self, webhook: str, operation: str, verdict: Verdict) -> None:
        """One verdict."""
        known = operation if operation in _OPERATIONS else "other"
        self._decisions.labels(webhook, known, verdict.decision, str(verdict.reason)).inc()
