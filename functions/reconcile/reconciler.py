"""Make one WebApp what its spec says: read live, decide, write with guards, tell the status.

The event's snapshot may end the matter without an API call; it never authorises a write. Every fact that is written was
read live in this run: the spec from the WebApp's GET, a child's state from a GET or from the answer to a write.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from opentelemetry.trace import Span as OtelSpan
from opentelemetry.trace import get_current_span

from functions.reconcile import transition
from functions.reconcile.report import Report
from functions.reconcile.session import Means, Session
from functions.runtime import kube, names, telemetry
from functions.webapp import overlay, plan
from functions.webapp.condition import ConditionType, Reason
from functions.webapp.contract import Change, WebAppEvent
from functions.webapp.errors import ApiError, Conflict, NotFound, Refused, TestFailed, Unavailable, WebAppError
from functions.webapp.outcome import Outcome
from functions.webapp.plan import Observed, Plan, Step, Subject
from functions.webapp.resources import DEPLOYMENT, EVENT, INGRESS, OWNED, RawObject, Resource, meta_text, metadata
from functions.webapp.status import Failure, condition

_REQUEUE_SECONDS = (60, 600)
_HEALS_BY_EDIT = frozenset({Reason.INVALID_SPEC, Reason.NAMESPACE_TERMINATING})


def reconcile(event: WebAppEvent, means: Means, report: Report, *, dry_run: bool = False) -> None:
    """Handle one event to its end, and tell it in `report`, also where it fails.

    Raises TryAgain or Unavailable where the sender has to send it again.
    """
    with telemetry.span(means.tracer, names.Span.RECONCILE) as span:
        run = _Run(event, means, report, dry_run=dry_run)
        started, labels = means.clock(), {names.Attr.CAUSE: str(event.cause), names.Attr.OUTCOME: str(Outcome.FAILED)}
        try:
            run.to_the_end()
            labels[names.Attr.OUTCOME] = str(report.outcome)
        except WebAppError as error:
            telemetry.failed(span, error.error_type, str(error))
            labels[names.Attr.ERROR_TYPE] = error.error_type
            raise
        finally:
            span.set_attribute(names.Attr.OUTCOME, labels[names.Attr.OUTCOME])
            run.describe(span)
            means.instruments.reconcile.record(means.clock() - started, labels)
            means.instruments.attempts.record(report.attempts)


class _Run:
    """One reconcile: what was seen so far, and which of it was read live."""

    def __init__(self, event: WebAppEvent, means: Means, report: Report, *, dry_run: bool) -> None:
        self.report = report
        self._event = event
        self._means = means
        self._session = Session(means, report, dry_run=dry_run)
        self._observed: Observed = {}
        self._live: set[Resource] = set()

    def to_the_end(self) -> None:
        """Run until nothing is left to do."""
        if self._nothing_to_do():
            return
        while (subject := self._read_webapp()) is not None:
            try:
                self._pass(subject)
            except Conflict as error:  # of the status: the WebApp moved on, what is known of its children stays
                self._session.conflict(error, self._means.resource, meta_text(subject.webapp, "resourceVersion"))
            else:
                return

    def describe(self, span: OtelSpan) -> None:
        """Say on the span what came of it."""
        span.set_attribute(names.Attr.ATTEMPTS, self.report.attempts)
        if self.report.generation is not None:
            span.set_attribute(names.Attr.GENERATION, self.report.generation)
        if self.report.reason:
            span.set_attribute(names.Attr.REASON, self.report.reason)

    def _nothing_to_do(self) -> bool:
        event, snapshot = self._event, self._event.snapshot
        if event.change is Change.DELETED and event.changed == self._means.resource:
            self.report.outcome = Outcome.GONE  # its children are the garbage collector's
            return True
        if snapshot is None or meta_text(snapshot.webapp, "uid") != event.webapp.uid or plan.edited(snapshot.webapp):
            return False
        subject = Subject.read(snapshot.webapp, self._means.resource)
        return plan.nothing_to_do(subject, {each: snapshot.child(each) for each in OWNED}, self._means.now())

    def _read_webapp(self) -> Subject | None:
        key = self._event.webapp
        try:
            webapp = self._session.send(kube.read(self._means.resource, key.namespace, key.name))
        except NotFound as error:
            if error.reason != "NotFound":  # the resource is not served: its CRD is away, or not there yet
                raise Unavailable(f"WebApps are not served: {error}", code=error.code) from error
            self.report.outcome = Outcome.GONE
            return None
        subject = Subject.read(webapp, self._means.resource)
        self.report.generation = metadata(webapp).get("generation")
        if key.uid and key.uid != subject.uid:
            self.report.outcome = Outcome.STALE  # about an earlier WebApp of this name; the new one has its own events
            get_current_span().add_event(names.Mark.STALE, {names.Attr.UID: subject.uid})
            return None
        self.report.webapp = replace(key, uid=subject.uid)
        if subject.deleting:
            self.report.outcome = Outcome.DELETING
            return None
        return subject

    def _pass(self, subject: Subject) -> None:
        """Carry out one plan; raises Conflict where the WebApp changed meanwhile."""
        with telemetry.span(self._means.tracer, names.Span.DECIDE) as span:
            self._observe(subject)
            steps = plan.steps(subject, self._observed)
            if span.is_recording():
                status = subject.status(self._observed, None, self._means.now())
                span.set_attribute(names.Attr.PLAN, str(Plan(steps, status)))
        failure: Failure | None = None
        for step in steps:
            failure = self._carry_out(subject, step) or failure
        self._tell_status(subject, failure)

    def _observe(self, subject: Subject) -> None:
        """Take children from the snapshot if it is of this WebApp, else from the API; what is live is not asked again.

        Where the last run met a foreign object, the snapshot cannot say whether it is still there.
        """
        snapshot = self._event.snapshot
        blocked = condition(subject.webapp.get("status"), ConditionType.DEGRADED).get("reason") == Reason.NAME_CONFLICT
        trusted = snapshot is not None and meta_text(snapshot.webapp, "uid") == subject.uid and not blocked
        for resource in OWNED:
            if resource in self._live:
                continue
            if trusted and snapshot is not None:
                self._observed[resource] = snapshot.child(resource)
            elif subject.spec is not None:
                self._look(subject, resource)

    def _carry_out(self, subject: Subject, step: Step | None) -> Failure | None:
        """Write one child until it is as wanted, or say what stands in the way."""
        while step is not None:
            resource = step.resource
            if foreign := self._foreign(subject, resource):
                return foreign
            try:
                if step.verb != "delete" or resource in self._live:
                    self._write(subject, step)
                    self.report.plan.append(step.told())
                    break
                self._look(subject, resource)  # nothing is deleted on a snapshot's word
            except Refused as error:
                failure = Failure(Reason(error.condition), f"{step}: {error}")
                if resource in self._live:
                    return failure
                self._look(subject, resource)  # what was refused may have been the snapshot's fault
                again = subject.step(resource, self._observed)
                if again is not None and again.told() == step.told() and not self._foreign(subject, resource):
                    return failure
            except (Conflict, TestFailed, NotFound) as error:
                self._session.conflict(error, resource, meta_text(step.target, "resourceVersion"))
                self._look(subject, resource)
            step = subject.step(resource, self._observed)
        return None

    def _write(self, subject: Subject, step: Step) -> None:
        resource, namespace = step.resource, self._event.webapp.namespace
        match step.verb:
            case "create":
                call = kube.create(resource, _stamped(step.body, self._session.stamp()))
            case "patch":
                stamp = {"metadata": {"annotations": self._session.stamp()}}
                operations = [*plan.guarded(step, subject.uid), *overlay.operations(step.target, stamp)]
                call = kube.patch(resource, namespace, step.name, operations)
            case "delete":
                uid, version = meta_text(step.target, "uid"), meta_text(step.target, "resourceVersion")
                call = kube.delete(resource, namespace, step.name, uid=uid, version=version)
        answer = self._session.send(call)
        self._observed[resource] = answer if step.verb != "delete" else None
        self._live.add(resource)

    def _foreign(self, subject: Subject, resource: Resource) -> Failure | None:
        found = self._observed.get(resource)
        if resource not in self._live or found is None or subject.owns(found):
            return None
        told = f"{resource.kind} {meta_text(found, 'name')!r} exists and is not controlled by this WebApp"
        return Failure(Reason.NAME_CONFLICT, f"{told}: remove it, or give the WebApp another name")

    def _look(self, subject: Subject, resource: Resource) -> None:
        name = meta_text(subject.webapp, "name")
        self._observed[resource] = self._session.look(resource, self._event.webapp.namespace, name)
        self._live.add(resource)

    def _tell_status(self, subject: Subject, failure: Failure | None) -> None:
        while (wanted := subject.status(self._observed, failure, self._means.now())) is not None:
            unread = self._unread(subject, wanted)
            if not unread:
                failure = self._put_status(subject, wanted) or failure
                break
            for resource in unread:
                self._look(subject, resource)
                failure = self._carry_out(subject, subject.step(resource, self._observed)) or failure
        self._conclude(subject, subject.failure or failure, wanted or subject.webapp.get("status") or {})

    def _unread(self, subject: Subject, wanted: dict[str, Any]) -> list[Resource]:
        """What the status would tell on a snapshot's word: always the Deployment, the Ingress if the url moves."""
        told = subject.webapp.get("status") or {}
        needed = [DEPLOYMENT, *([INGRESS] if wanted.get("url") != told.get("url") else [])]
        return [resource for resource in needed if resource not in self._live]

    def _put_status(self, subject: Subject, wanted: dict[str, Any]) -> Failure | None:
        """Write the status; a name that the CRD accepts no longer keeps even that from being written."""
        try:
            self._session.send(kube.put(self._means.resource, {**subject.webapp, "status": wanted}, "status"))
        except NotFound:
            self.report.outcome = Outcome.GONE
        except Refused as error:
            return Failure(Reason(error.condition), f"update status: {error}")
        else:
            self._note_change(subject, wanted)
            self._tell_people(subject, wanted)
        return None

    def _note_change(self, subject: Subject, wanted: dict[str, Any]) -> None:
        """Put a Ready condition that changed on the span, and how long it took to become true into the metrics."""
        before = condition(subject.webapp.get("status"), ConditionType.READY)
        after = condition(wanted, ConditionType.READY)
        if before.get("reason") == after.get("reason"):
            return
        moved = {names.Attr.CONDITION_FROM: str(before.get("reason", "")), names.Attr.CONDITION_TO: after["reason"]}
        get_current_span().add_event(names.Mark.CONDITION_CHANGED, moved)
        if after["status"] == "True" and before.get("status") != "True":
            since = _moment(before.get("lastTransitionTime") or metadata(subject.webapp).get("creationTimestamp"))
            if since is not None:
                taken = max(0.0, (self._means.now() - since).total_seconds())
                change = Change.ADDED if self.report.generation == 1 else Change.MODIFIED
                self._means.instruments.convergence.record(taken, {names.Attr.CHANGE: str(change)})

    def _tell_people(self, subject: Subject, wanted: dict[str, Any]) -> None:
        stamp = overlay.render(self._session.stamp()) or {}
        event = transition.event(subject.webapp, self._means.resource, wanted, self._means.now(), stamp)
        if event is None:
            return
        try:
            self._session.send(kube.create(EVENT, event))
        except ApiError:
            return  # AlreadyExists: told before. Anything else: the condition says it too, and an answer must not fail

    def _conclude(self, subject: Subject, failure: Failure | None, status: RawObject) -> None:
        report = self.report
        told = condition(status, ConditionType.READY)
        report.reason, report.message = str(told.get("reason") or ""), str(told.get("message") or "")
        if report.outcome is Outcome.GONE:
            return
        if failure is not None:
            report.outcome = Outcome.BLOCKED
            report.reason, report.message = str(failure.reason), failure.message
            if failure.reason not in _HEALS_BY_EDIT:
                report.requeue_after = self._requeue_after(
                    condition(subject.webapp.get("status"), ConditionType.DEGRADED)
                )
        elif any(step["verb"] == "create" for step in report.plan):
            report.outcome = Outcome.CREATED
        elif any(call["method"] != "GET" and "error" not in call for call in report.calls):
            report.outcome = Outcome.UPDATED

    def _requeue_after(self, degraded: RawObject) -> int:
        """As long again as it has been failing, from one to ten minutes: back-off without a memory of our own."""
        low, high = _REQUEUE_SECONDS
        since = _moment(degraded.get("lastTransitionTime"))
        if since is None or degraded.get("status") != "True":
            return low
        return min(high, max(low, int((self._means.now() - since).total_seconds())))


def _moment(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else None


def _stamped(body: RawObject, stamp: dict[str, str | None]) -> dict[str, Any]:
    meta = metadata(body)
    annotations = {**(meta.get("annotations") or {}), **(overlay.render(stamp) or {})}
    return {**body, "metadata": {**meta, **({"annotations": annotations} if annotations else {})}}
