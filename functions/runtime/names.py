"""Pure: every span, attribute, event and metric name of the project, each once; `#:` says what it means.

docs/tracing.md is made from here. Sources: OpenTelemetry's semantic conventions for HTTP, messaging, FaaS and
CloudEvents; `webapp.*` is ours.
"""

from __future__ import annotations

from typing import Final

DESTINATION: Final = "webapp-events"
"""What the stream of events is called."""


class Span:
    """Span names; an API call is `{method} {url.template}`, a cold start `init {service}`."""

    PUBLISH: Final = f"publish {DESTINATION}"  #: bridge: from seeing a change until it is answered for good
    DELIVER: Final = "POST"  #: bridge: one attempt to deliver it
    RECEIVE: Final = "POST /"  #: function: the request
    PROCESS: Final = f"process {DESTINATION}"  #: function: one event, read and handled
    RECONCILE: Final = "reconcile WebApp"  #: function: one WebApp made what its spec says
    DECIDE: Final = "decide"  #: function: the plan from what is live; absent where the snapshot ended the matter
    INIT: Final = "init"  #: function: a cold start, a trace of its own; `import`, `settings` and `app` below it
    AUTHENTICATE: Final = "POST /authenticate"  #: authentication webhook: one TokenReview
    RECORD: Final = "INSERT reconciles"  #: history: one transaction, for all the events that waited for it


class Attr:
    """Attribute keys of spans, events, links and metrics."""

    ERROR_TYPE: Final = "error.type"  #: what went wrong, from one closed list; only where something failed
    HTTP_METHOD: Final = "http.request.method"  #: GET, POST, …
    HTTP_RESEND: Final = "http.request.resend_count"  #: how often it was sent before; absent on the first attempt
    HTTP_ROUTE: Final = "http.route"  #: the path that the function serves
    HTTP_STATUS: Final = "http.response.status_code"  #: the answer
    URL_FULL: Final = "url.full"  #: what was asked
    URL_TEMPLATE: Final = "url.template"  #: what was asked, names left open
    SERVER_ADDRESS: Final = "server.address"  #: who was asked
    SERVER_PORT: Final = "server.port"  #: on which port
    MESSAGING_SYSTEM: Final = "messaging.system"  #: always `cloudevents`
    MESSAGING_OPERATION: Final = "messaging.operation.name"  #: `publish` or `process`
    MESSAGING_OPERATION_TYPE: Final = "messaging.operation.type"  #: `send` or `process`
    MESSAGING_DESTINATION: Final = "messaging.destination.name"  #: always `webapp-events`
    MESSAGING_ID: Final = "messaging.message.id"  #: the event's id
    EVENT_ID: Final = "cloudevents.event_id"  #: the event's id
    EVENT_SOURCE: Final = "cloudevents.event_source"  #: the cluster and kind that it is about
    EVENT_TYPE: Final = "cloudevents.event_type"  #: such as `com.example.platform.webapp.modified.v1`
    EVENT_SUBJECT: Final = "cloudevents.event_subject"  #: API path of the object that changed
    FAAS_COLDSTART: Final = "faas.coldstart"  #: whether this request was the first of its process
    FAAS_TRIGGER: Final = "faas.trigger"  #: always `pubsub`
    NAMESPACE: Final = "webapp.namespace"  #: namespace of the WebApp
    NAME: Final = "webapp.name"  #: name of the WebApp
    UID: Final = "webapp.uid"  #: uid of the WebApp
    GENERATION: Final = "webapp.generation"  #: generation of the WebApp that was read
    OBJECT_KIND: Final = "webapp.object.kind"  #: kind of the object that changed, or that a conflict was about
    OBJECT_NAME: Final = "webapp.object.name"  #: its name
    OBJECT_VERSION: Final = "webapp.object.resource_version"  #: its resourceVersion
    LINK: Final = "webapp.link"  #: why a span links to another; see links
    CAUSE: Final = "webapp.cause"  #: why the event was sent: watch, relist, sync, resync, requeue
    CHANGE: Final = "webapp.change"  #: what happened to the object: added, modified, deleted, sync
    COALESCED: Final = "webapp.coalesced"  #: how many changes this event stands for
    EVENT_AGE: Final = "webapp.event.age_ms"  #: from seeing the change to handling it: queue, delivery and cold start
    OUTCOME: Final = "webapp.outcome"  #: created, updated, unchanged, blocked, deleting, gone, stale, ignored, failed
    REASON: Final = "webapp.reason"  #: reason of the Ready condition, what blocks it, or why there is no event
    ATTEMPT: Final = "webapp.attempt"  #: which attempt an API call belongs to, or how many conflicts there were so far
    ATTEMPTS: Final = "webapp.attempts"  #: how often the plan was made: conflicts + 1
    PLAN: Final = "webapp.plan"  #: what was decided, such as `create Deployment, update status`
    STEP: Final = "webapp.step"  #: what an API call is for: read, write, status
    AUDIT_ID: Final = "webapp.audit_id"  #: finds the call in the API server's audit log
    DRY_RUN: Final = "webapp.dry_run"  #: whether the writes were rehearsed only
    BACKOFF: Final = "webapp.backoff_ms"  #: the pause after a conflict
    VERSION_SENT: Final = "webapp.conflict.sent"  #: resourceVersion that the refused write was made for
    VERSION_FOUND: Final = "webapp.conflict.found"  #: resourceVersion that the next read found; empty if none was made
    ADMISSION_WEBHOOK: Final = "webapp.admission.webhook"  #: admission: `mutate` or `validate`
    ADMISSION_OPERATION: Final = "webapp.admission.operation"  #: admission: CREATE or UPDATE
    ADMISSION_DECISION: Final = "webapp.admission.decision"  #: admission: allowed, patched or denied
    ADMISSION_REASON: Final = "webapp.admission.reason"  #: admission: why, from one closed list
    API_VERB: Final = "webapp.api.verb"  #: aggregated API: get, list or watch
    API_RESOURCE: Final = "webapp.api.resource"  #: aggregated API: the resource and its group
    USER_HASH: Final = "user.hash"  #: authentication: the user, by the first half of a SHA-256
    AUTHN_DECISION: Final = "webapp.authn.decision"  #: authentication: authenticated, refused or unavailable
    AUTHN_SOURCE: Final = "webapp.authn.source"  #: authentication: provider, cache, stale or local
    AUTHN_REFUSAL: Final = "webapp.authn.refusal"  #: authentication: why a token is no good, from one closed list
    AUTHN_COVERS: Final = "webapp.authn.covers"  #: authentication: the failure that a stale answer covers
    AUTHN_BREAKER: Final = "webapp.authn.breaker"  #: authentication: closed, half_open or open
    DB_SYSTEM: Final = "db.system.name"  #: history: `sqlite` or `postgresql`
    DB_OPERATION: Final = "db.operation.name"  #: history: `INSERT`
    DB_COLLECTION: Final = "db.collection.name"  #: history: the table
    DB_BATCH: Final = "db.operation.batch.size"  #: history: events in the transaction
    HISTORY_NEW: Final = "webapp.history.new"  #: history: how many of them were not there yet
    HISTORY_RESULT: Final = "webapp.history.result"  #: history: what came of an event, or of a row in retention
    CONDITION_FROM: Final = "webapp.condition.from"  #: reason of the Ready condition before
    CONDITION_TO: Final = "webapp.condition.to"  #: reason of the Ready condition after


class LinkKind:
    """Values of `webapp.link`: where a linked context comes from."""

    CREATION: Final = "creation"  #: the event's own `traceparent`: the span that published it
    AMBIENT: Final = "ambient"  #: the request's `traceparent` header, where it belongs to another trace
    REPLAY: Final = "replay"  #: the trace of the event that was sent again
    STAMP: Final = "stamp"  #: the reconcile that last wrote the changed object, by its annotation
    WEBAPP: Final = "webapp"  #: what somebody noted on the WebApp; anybody can, so it never decides on sampling
    BATCH: Final = "batch"  #: another event that the same transaction of the history wrote
    INIT: Final = "init"  #: the cold start that the request had to wait for


class Mark:
    """Span event names."""

    CONFLICT: Final = "webapp.conflict"  #: a write met a newer object; the run reads again and goes on
    STALE: Final = "webapp.stale_event"  #: the event was about an earlier WebApp of this name
    CONDITION_CHANGED: Final = "webapp.condition.changed"  #: the Ready condition has another reason now


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

    HISTORY_EVENTS: Final = "webapp.history.events"
    HISTORY_COMMIT: Final = "webapp.history.commit.duration"
    HISTORY_BATCH: Final = "webapp.history.batch.size"
    HISTORY_PRUNED: Final = "webapp.history.pruned"

    ADMISSION: Final = "webapp_admission_decisions"

    AGGREGATION_REQUESTS: Final = "webapp_aggregation_requests"
    AGGREGATION_WATCHES: Final = "webapp_aggregation_watches"
    AGGREGATION_POLL_ERRORS: Final = "webapp_aggregation_poll_errors"

    WATCH_EVENTS: Final = "webapp_bridge_watch_events"
    WATCH_RESTARTS: Final = "webapp_bridge_watch_restarts"
    WATCH_AGE: Final = "webapp_bridge_watch_age_seconds"
    COALESCED: Final = "webapp_bridge_coalesced"
    SENT: Final = "webapp_bridge_sent"
    RETRIED: Final = "webapp_bridge_retried"
    PARKED: Final = "webapp_bridge_parked"
    PARKED_NOW: Final = "webapp_bridge_parked_webapps"
    REPAIRED: Final = "webapp_bridge_repaired"
    QUEUE_DEPTH: Final = "webapp_bridge_queue_depth"
    OLDEST_PENDING: Final = "webapp_bridge_oldest_pending_seconds"
    IN_FLIGHT: Final = "webapp_bridge_in_flight"
    CHANGE_TO_ACK: Final = "webapp_bridge_change_to_ack_seconds"
    HISTORY_SENT: Final = "webapp_bridge_history_sent"
    HISTORY_DROPPED: Final = "webapp_bridge_history_dropped"
    HISTORY_WAITING: Final = "webapp_bridge_history_waiting"
    LEADER: Final = "webapp_bridge_leader"
    LEASE_TRANSITIONS: Final = "webapp_bridge_lease_transitions"
    SYNCED: Final = "webapp_bridge_synced"

    AUTHN_DECISIONS: Final = "webapp_authn_decisions"
    AUTHN_REJECTED: Final = "webapp_authn_rejected"
    AUTHN_CALLS: Final = "webapp_authn_provider_calls"
    AUTHN_CALL_SECONDS: Final = "webapp_authn_provider_call_seconds"
    AUTHN_THROTTLED: Final = "webapp_authn_throttled"
    AUTHN_STALE: Final = "webapp_authn_stale"
    AUTHN_BREAKER: Final = "webapp_authn_breaker_state"
    AUTHN_BREAKER_TURNS: Final = "webapp_authn_breaker_turns"
    AUTHN_CACHE: Final = "webapp_authn_cached_verdicts"
    AUTHN_DROPPED_GROUPS: Final = "webapp_authn_dropped_groups"
