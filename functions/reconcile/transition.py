"""Pure: the Kubernetes Event that tells people when a WebApp began to fail, and when it recovered."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from functions.webapp.condition import ConditionType
from functions.webapp.resources import EVENT, MANAGER, RawObject, Resource, meta_text
from functions.webapp.status import FAILURES, condition

_NOTE_LIMIT = 1024  # events.k8s.io/v1 validation


def event(
    webapp: RawObject, resource: Resource, after: Mapping[str, Any], now: datetime, annotations: Mapping[str, str]
) -> dict[str, Any] | None:
    """The Event (events.k8s.io/v1) for the step from the WebApp's status to `after`; None where it is not worth one.

    One for each change of the Degraded reason to a failure, and one for the recovery. Its name follows from the
    condition, so a repeated reconcile meets its own Event instead of writing a second one.
    """
    before = condition(webapp.get("status"), ConditionType.DEGRADED)
    told = condition(after, ConditionType.DEGRADED)
    failing, failed = told.get("reason") in FAILURES, before.get("reason") in FAILURES
    if before.get("reason") == told.get("reason") or not (failing or failed):
        return None
    uid = meta_text(webapp, "uid")
    reason = told["reason"] if failing else "Recovered"
    seed = "/".join([uid, reason, str(told.get("lastTransitionTime")), str(told.get("observedGeneration"))])
    note = told["message"] if failing else f"{before.get('reason')} is over"
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {
            "name": f"{meta_text(webapp, 'name')}.{hashlib.sha256(seed.encode()).hexdigest()[:16]}",
            "namespace": meta_text(webapp, "namespace"),
            "annotations": dict(annotations),
        },
        "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": "Warning" if failing else "Normal",
        "reason": reason,
        "action": "Reconcile",
        "note": note[:_NOTE_LIMIT],
        "reportingController": f"{resource.group}/{MANAGER}",
        "reportingInstance": MANAGER,
        "regarding": {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "namespace": meta_text(webapp, "namespace"),
            "name": meta_text(webapp, "name"),
            "uid": uid,
        },
    }
