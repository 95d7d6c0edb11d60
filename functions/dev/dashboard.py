"""Pure: the Grafana dashboard: what an engineer asks, from the outside in, one row each.

Convergence is what users feel; then reconciles, the bridge, API calls, Knative's own figures, and the webhooks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from functions.runtime.names import Metric

_SOURCE = {"type": "prometheus", "uid": "${source}"}
_WIDTH, _COLUMNS, _HEIGHT = 8, 3, 8
_RECONCILE = "webapp_reconcile_duration_seconds"
_CALLS = "http_client_request_duration_seconds"

KNATIVE = ("kn_revision_pods_count", "kn_revision_pods_desired", "kn_serving_queue_depth")
"""Metrics of Knative Serving 1.23 that the dashboard shows; all others are ours."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A graph: PromQL expressions, each with what its lines are called."""

    title: str
    lines: tuple[tuple[str, str], ...]
    unit: str = "short"


def _quantiles(histogram: str, *shares: float, by: str = "") -> tuple[tuple[str, str], ...]:
    labels = f"le, {by}" if by else "le"
    told = f" {{{{{by}}}}}" if by else ""
    return tuple(
        (f"histogram_quantile({share}, sum by ({labels}) (rate({histogram}_bucket[5m])))", f"p{share * 100:g}{told}")
        for share in shares
    )


def _rate(counter: str, by: str = "") -> tuple[tuple[str, str], ...]:
    return ((f"sum{f' by ({by})' if by else ''} (rate({counter}[5m]))", f"{{{{{by}}}}}" if by else counter),)


ROWS: dict[str, tuple[Panel, ...]] = {
    "Convergence: from a change of the spec to Ready": (
        Panel("Time to Ready", _quantiles("webapp_convergence_duration_seconds", 0.5, 0.95), "s"),
        Panel("Became Ready", _rate("webapp_convergence_duration_seconds_count", "webapp_change"), "ops"),
        Panel("From change to acknowledgement", _quantiles(Metric.CHANGE_TO_ACK, 0.5, 0.95), "s"),
    ),
    "Reconciles": (
        Panel("By outcome", _rate(f"{_RECONCILE}_count", "webapp_outcome"), "ops"),
        Panel("Failures by error", _rate(f'{_RECONCILE}_count{{webapp_outcome="failed"}}', "error_type"), "ops"),
        Panel("Duration", _quantiles(_RECONCILE, 0.5, 0.9, 0.99), "s"),
        Panel("Conflicts", _rate("webapp_reconcile_conflicts_total", "webapp_object_kind"), "ops"),
        Panel("Attempts", _quantiles("webapp_reconcile_attempts", 0.5, 0.99)),
        Panel("Events handled", _rate("messaging_process_duration_seconds_count", "cloudevents_event_type"), "ops"),
    ),
    "Bridge": (
        Panel("Watch events by decision", _rate(f"{Metric.WATCH_EVENTS}_total", "decision"), "ops"),
        Panel("Deliveries by answer", _rate(f"{Metric.SENT}_total", "answer"), "ops"),
        Panel(
            "Waiting",
            (
                (f"sum({Metric.QUEUE_DEPTH})", "waiting"),
                (f"sum({Metric.IN_FLIGHT})", "in flight"),
                (f"sum({Metric.PARKED_NOW})", "parked"),
            ),
        ),
        Panel("Oldest change that waits", ((f"max({Metric.OLDEST_PENDING})", "age"),), "s"),
        Panel("Watches opened again", _rate(f"{Metric.WATCH_RESTARTS}_total", "reason"), "ops"),
        Panel(
            "Leader, silence of the watches",
            ((f"sum({Metric.LEADER})", "leaders"), (f"max by (kind) ({Metric.WATCH_AGE})", "{{kind}}")),
        ),
        Panel("Repaired by a relist", _rate(f"{Metric.REPAIRED}_total"), "ops"),
        Panel("History by answer", _rate(f"{Metric.HISTORY_SENT}_total", "answer"), "ops"),
        Panel(
            "History: waiting, missing",
            ((f"sum({Metric.HISTORY_WAITING})", "waiting"), (f"sum({Metric.HISTORY_DROPPED}_total)", "missing")),
        ),
    ),
    "API calls": (
        Panel("By method", _rate(f"{_CALLS}_count", "http_request_method"), "ops"),
        Panel("By status", _rate(f"{_CALLS}_count", "http_response_status_code"), "ops"),
        Panel("Duration", _quantiles(_CALLS, 0.5, 0.99, by="http_request_method"), "s"),
    ),
    "Knative": (
        Panel("Pods", ((f"sum({KNATIVE[0]})", "there"), (f"sum({KNATIVE[1]})", "wanted"))),
        Panel("Cold starts", _rate("faas_coldstarts_total"), "ops"),
        Panel("Cold start", _quantiles("faas_init_duration_seconds", 0.5, 0.95), "s"),
        Panel("Requests that wait in a pod", ((f"sum({KNATIVE[2]})", "waiting"),)),
    ),
    "Admission and authentication": (
        Panel("Admission", _rate(f"{Metric.ADMISSION}_total", "decision"), "ops"),
        Panel("Authentication", _rate(f"{Metric.AUTHN_DECISIONS}_total", "outcome"), "ops"),
        Panel("Identity provider", _quantiles(Metric.AUTHN_CALL_SECONDS, 0.5, 0.99), "s"),
        Panel("Breaker: 0 closed, 1 half-open, 2 open", ((f"max({Metric.AUTHN_BREAKER})", "state"),)),
        Panel("Calls not made", _rate(f"{Metric.AUTHN_THROTTLED}_total", "by"), "ops"),
    ),
}


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it; it asks which Prometheus to use."""
    panels: list[dict[str, Any]] = []
    top = 0
    for title, found in ROWS.items():
        panels.append(
            {"type": "row", "title": title, "collapsed": False, "gridPos": _place(0, top, 24, 1), "panels": []}
        )
        top += 1
        for index, panel in enumerate(found):
            place = _place(index % _COLUMNS * _WIDTH, top + index // _COLUMNS * _HEIGHT, _WIDTH, _HEIGHT)
            panels.append(_graph(panel, place))
        top += -(-len(found) // _COLUMNS) * _HEIGHT
    for number, each in enumerate(panels, 1):
        each["id"] = number
    source = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "title": "WebApp operator",
        "uid": "webapp-operator",
        "tags": ["webapp-operator"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [source]},
        "panels": panels,
    }


def _graph(panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + n), "datasource": _SOURCE, "expr": expr, "legendFormat": legend, "exemplar": True}
        for n, (expr, legend) in enumerate(panel.lines)
    ]
    return {
        "type": "timeseries",
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }


def _place(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}
