"""Pure: the Prometheus alert rules: what somebody should be woken for, and where to look then."""

from __future__ import annotations

from typing import Any

from functions.runtime.names import Metric

_RECONCILE = "webapp_reconcile_duration_seconds"


def rules() -> dict[str, Any]:
    """The rules as Prometheus reads them (`rule_files`)."""
    found = [
        _rule(
            "WebAppChangesNotDelivered",
            f'sum(rate({Metric.WATCH_EVENTS}_total{{decision="queued"}}[10m])) > 0'
            f' and sum(rate({Metric.SENT}_total{{answer="2xx"}}[10m])) == 0',
            "10m",
            "WebApps change and no event is acknowledged",
            "Deliveries by answer on the dashboard tell how the sink answers; /readyz of the bridge tells why.",
        ),
        _rule(
            "WebAppChangesWaitLong",
            f"max({Metric.OLDEST_PENDING}) > 300",
            "5m",
            "a change has waited for {{ $value | humanizeDuration }}",
            "Either the function answers 503 for this WebApp, or it is too slow for what comes.",
        ),
        _rule(
            "WebAppConvergenceSlow",
            "histogram_quantile(0.95, sum by (le) (rate(webapp_convergence_duration_seconds_bucket[15m]))) > 120",
            "15m",
            "one WebApp in twenty takes {{ $value | humanizeDuration }} from a change to Ready",
            "webapp trace NAMESPACE/NAME shows where the time goes.",
        ),
        _rule(
            "WebAppConflictsExhausted",
            f'sum(increase({_RECONCILE}_count{{error_type="conflicts_exhausted"}}[15m])) > 0',
            "0m",
            "a reconcile gave up after five conflicts",
            "Somebody else keeps writing the same object; the conflict events of the trace name its kind.",
        ),
        _rule(
            "WebAppReconcilesFail",
            f'sum(rate({_RECONCILE}_count{{webapp_outcome="failed"}}[15m])) / sum(rate({_RECONCILE}_count[15m])) > 0.1',
            "15m",
            "{{ $value | humanizePercentage }} of the reconciles fail",
            "Failures by error on the dashboard tell why.",
        ),
        _rule(
            "WebAppEventsParked",
            f"sum({Metric.PARKED_NOW}) > 0",
            "5m",
            "{{ $value }} WebApps have an event that the function will never take",
            "The parking file of the bridge holds the events; webapp replay sends them again.",
        ),
        _rule(
            "WebAppHistoryIncomplete",
            f"sum(increase({Metric.HISTORY_DROPPED}_total[15m])) > 0",
            "0m",
            "{{ $value }} reconciles are missing from the history",
            "The recorder was away for longer than the bridge keeps them, or refuses them: the bridge's log tells.",
        ),
        _rule(
            "WebAppBridgeWithoutLeader",
            f"sum({Metric.LEADER}) == 0 or absent({Metric.LEADER})",
            "5m",
            "no bridge sends events",
            "Changes are not lost: whoever leads next announces every WebApp. Look at the Lease and the pods.",
        ),
        _rule(
            "WebAppWatchSilent",
            f"max by (kind) ({Metric.WATCH_AGE}) > 900",
            "5m",
            "nothing was heard of {{ $labels.kind }} for {{ $value | humanizeDuration }}",
            "The API server sends a bookmark every minute; the log of the bridge tells what is wrong.",
        ),
        _rule(
            "WebAppAuthenticationBreakerOpen",
            f"max({Metric.AUTHN_BREAKER}) == 2",
            "5m",
            "the identity provider is not asked any more",
            "Known tokens are served from the cache for a while; new ones are not.",
        ),
    ]
    return {"groups": [{"name": "webapp-operator", "rules": found}]}


def _rule(name: str, expr: str, lasting: str, summary: str, advice: str) -> dict[str, Any]:
    return {
        "alert": name,
        "expr": expr,
        "for": lasting,
        "labels": {"severity": "warning"},
        "annotations": {"summary": summary, "description": advice},
    }
