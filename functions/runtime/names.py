"""Pure: every span, attribute, event and metric name of the project, each once (docs/tracing.md is made from here).

Sources: OpenTelemetry semantic conventions for HTTP, messaging, FaaS and CloudEvents; `webapp.*` is ours.
"""

from __future__ import annotations

from typing import Final


class Span:
    """Span names; those of API calls and HTTP requests are `{method} {url.template}`."""

    PUBLISH: Final = "publish webapp-events"
    DELIVER: Final = "POST"
    PROCESS: Final = "process webapp-events"
    RECONCILE: Final = "reconcile WebApp"
    DECIDE: Final = "decide"
    INIT: Final = "init"


class Attr:
    """Attribute keys."""

    ERROR_TYPE: Final = "error.type"
    HTTP_METHOD: Final = "http.request.method"
    HTTP_RESEND: Final = "http.request.resend_count"
    HTTP_ROUTE: Final = "http.route"
    HTTP_STATUS: Final = "http.response.status_code"
    URL_FULL: Final = "url.full"
    URL_TEMPLATE: Final = "url.template"
    SERVER_ADDRESS: Final = "server.address"
    SERVER_PORT: Final = "server.port"
    MESSAGING_SYSTEM: Final = "messaging.system"
    MESSAGING_OPERATION: Final = "messaging.operation.name"
    MESSAGING_OPERATION_TYPE: Final = "messaging.operation.type"
    MESSAGING_DESTINATION: Final = "messaging.destination.name"
    MESSAGING_ID: Final = "messaging.message.id"
    EVENT_ID: Final = "cloudevents.event_id"
    EVENT_SOURCE: Final = "cloudevents.event_source"
    EVENT_TYPE: Final = "cloudevents.event_type"
    EVENT_SUBJECT: Final = "cloudevents.event_subject"
    FAAS_COLDSTART: Final = "faas.coldstart"
    FAAS_TRIGGER: Final = "faas.trigger"
    NAMESPACE: Final = "webapp.namespace"
    NAME: Final = "webapp.name"
    UID: Final = "webapp.uid"
    GENERATION: Final = "webapp.generation"
    OBJECT_KIND: Final = "webapp.object.kind"
    OBJECT_NAME: Final = "webapp.object.name"
    OBJECT_VERSION: Final = "webapp.object.resource_version"
    LINK: Final = "webapp.link"
    CAUSE: Final = "webapp.cause"
    CHANGE: Final = "webapp.change"
    COALESCED: Final = "webapp.coalesced"
    OUTCOME: Final = "webapp.outcome"
    ATTEMPT: Final = "webapp.attempt"
    ATTEMPTS: Final = "webapp.attempts"
    PLAN: Final = "webapp.plan"
    STEP: Final = "webapp.step"
    AUDIT_ID: Final = "webapp.audit_id"
    DRY_RUN: Final = "webapp.dry_run"
    BACKOFF: Final = "webapp.backoff_ms"
    VERSION_SENT: Final = "webapp.conflict.sent"
    VERSION_FOUND: Final = "webapp.conflict.found"
    CONDITION_FROM: Final = "webapp.condition.from"
    CONDITION_TO: Final = "webapp.condition.to"


class LinkKind:
    """Values of `webapp.link`: where a linked context comes from."""

    CREATION: Final = "creation"
    AMBIENT: Final = "ambient"
    STAMP: Final = "stamp"
    WEBAPP: Final = "webapp"
    INIT: Final = "init"


class Mark:
    """Span event names."""

    CONFLICT: Final = "webapp.conflict"
    STALE: Final = "webapp.stale_event"
    CONDITION_CHANGED: Final = "webapp.condition.changed"


class Metric:
    """Metric names: OpenTelemetry's for the functions, Prometheus's for the bridge, without a counter's `_total`."""

    HTTP_SERVER: Final = "http.server.request.duration"
    HTTP_CLIENT: Final = "http.client.request.duration"
    PROCESS: Final = "messaging.process.duration"
    RECONCILE: Final = "webapp.reconcile.duration"
    ATTEMPTS: Final = "webapp.reconcile.attempts"
    CONFLICTS: Final = "webapp.reconcile.conflicts"
    CONVERGENCE: Final = "webapp.convergence.duration"
    COLDSTARTS: Final = "faas.coldstarts"
    INIT: Final = "faas.init_duration"

    WATCH_EVENTS: Final = "webapp_bridge_watch_events"
    WATCH_RESTARTS: Final = "webapp_bridge_watch_restarts"
    WATCH_AGE: Final = "webapp_bridge_watch_age_seconds"
    COALESCED: Final = "webapp_bridge_coalesced"
    SUPPRESSED: Final = "webapp_bridge_suppressed"
    SENT: Final = "webapp_bridge_sent"
    RETRIED: Final = "webapp_bridge_retried"
    PARKED: Final = "webapp_bridge_parked"
    PARKED_NOW: Final = "webapp_bridge_parked_webapps"
    REPAIRED: Final = "webapp_bridge_repaired"
    QUEUE_DEPTH: Final = "webapp_bridge_queue_depth"
    OLDEST_PENDING: Final = "webapp_bridge_oldest_pending_seconds"
    IN_FLIGHT: Final = "webapp_bridge_in_flight"
    CHANGE_TO_ACK: Final = "webapp_bridge_change_to_ack_seconds"
    LEADER: Final = "webapp_bridge_leader"
    LEASE_TRANSITIONS: Final = "webapp_bridge_lease_transitions"
    SYNCED: Final = "webapp_bridge_synced"
