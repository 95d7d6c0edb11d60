"""Pure: what has to happen so that a WebApp's children and status become what its spec says.

It is asked twice: of an event's snapshot, where an empty plan ends the matter without an API call (`nothing_to_do`),
and of the live WebApp, where the plan is carried out step by step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from functions.webapp import desired, model, overlay
from functions.webapp.condition import Reason
from functions.webapp.errors import InvalidSpec
from functions.webapp.model import WebAppSpec
from functions.webapp.overlay import Operation
from functions.webapp.resources import (
    DEPLOYMENT,
    INGRESS,
    OWNED,
    RawObject,
    Resource,
    controller,
    meta_text,
    metadata,
)
from functions.webapp.status import Failure, Observation, status

Observed = dict[Resource, RawObject | None]
"""Each child as last seen: None is "not there"."""


@dataclass(frozen=True, slots=True)
class Step:
    """One write to one child: `body` of a create, `operations` of a patch, `target` of a patch or delete."""

    verb: Literal["create", "patch", "delete"]
    resource: Resource
    name: str
    body: Mapping[str, Any] = field(default_factory=dict)
    operations: tuple[Operation, ...] = ()
    target: RawObject = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.verb} {self.resource.kind}"

    def told(self) -> dict[str, Any]:
        """The step as reports, dry runs and the history show it."""
        found: dict[str, Any] = {"verb": self.verb, "kind": self.resource.kind, "name": self.name}
        return {**found, "operations": list(self.operations)} if self.operations else found


@dataclass(frozen=True, slots=True)
class Plan:
    """The writes to children in their order, and the status if it has to change."""

    steps: tuple[Step, ...]
    status: dict[str, Any] | None

    def __str__(self) -> str:
        return ", ".join([*map(str, self.steps), *(["update status"] if self.status is not None else [])]) or "nothing"


@dataclass(frozen=True, slots=True)
class Subject:
    """A WebApp whose spec was read: what it wants, or why that cannot be told."""

    webapp: RawObject
    resource: Resource
    spec: WebAppSpec | None
    failure: Failure | None

    @classmethod
    def read(cls, webapp: RawObject, resource: Resource) -> Subject:
        """Judge the spec; an invalid one becomes a failure that names the field."""
        try:
            return cls(webapp, resource, model.parse(webapp), None)
        except InvalidSpec as error:
            return cls(webapp, resource, None, Failure(Reason.INVALID_SPEC, str(error)))

    @property
    def uid(self) -> str:
        """The WebApp's uid, by which its children are known."""
        return meta_text(self.webapp, "uid")

    @property
    def deleting(self) -> bool:
        """Whether the WebApp is on its way out: then nothing is written, the garbage collector does the rest."""
        return _deleting(self.webapp)

    def owns(self, child: RawObject | None) -> bool:
        """Whether this incarnation of the WebApp controls the object."""
        owner = controller(child) if child is not None else None
        return owner is not None and owner.get("uid") == self.uid

    def step(self, resource: Resource, observed: Observed) -> Step | None:
        """What one child needs; one that is not ours counts as absent, since only a live look can tell a conflict."""
        if self.spec is None or self.spec.paused or self.deleting:
            return None
        found = observed.get(resource)
        child = found if self.owns(found) else None
        wanted = desired.child(resource, self.webapp, self.spec, self.resource, observed.get(INGRESS))
        name = meta_text(self.webapp, "name")
        if wanted is None:
            return Step("delete", resource, name, target=child) if child is not None else None
        if child is None:
            return Step("create", resource, name, body=overlay.render(wanted))
        operations = overlay.operations(child, wanted)
        return Step("patch", resource, name, operations=tuple(operations), target=child) if operations else None

    def status(self, observed: Observed, failure: Failure | None, now: datetime) -> dict[str, Any] | None:
        """The status it should have; None where it has it already, or must not have one any more."""
        if self.deleting:
            return None
        deployment = observed.get(DEPLOYMENT)
        labels = desired.selector(self.webapp)
        seen = Observation(
            deployment=deployment if self.owns(deployment) else None,
            url=desired.url(self.spec) if self.spec and self.owns(observed.get(INGRESS)) else None,
            selector=",".join(f"{key}={value}" for key, value in labels.items()),
            paused=bool(self.spec and self.spec.paused),
            failure=self.failure or failure,
        )
        wanted = status(self.webapp, seen, now)
        return None if wanted == self.webapp.get("status") else wanted


def steps(subject: Subject, observed: Observed) -> tuple[Step, ...]:
    """The writes to children, in their order, that a WebApp with these children needs."""
    return tuple(step for resource in OWNED if (step := subject.step(resource, observed)))


def edited(webapp: RawObject) -> bool:
    """Whether the status is of another generation and has to be written, whatever spec and children are like."""
    told = webapp.get("status")
    generation = told.get("observedGeneration") if isinstance(told, Mapping) else None
    return not _deleting(webapp) and generation != metadata(webapp).get("generation")


def nothing_to_do(subject: Subject, observed: Observed, now: datetime) -> bool:
    """Whether the plan would come out empty; ends at the first thing that is to be done, the cheapest first."""
    return subject.status(observed, None, now) is None and not any(subject.step(each, observed) for each in OWNED)


def guarded(step: Step, uid: str) -> list[dict[str, Any]]:
    """The JSON Patch of a step with its guard: still controlled by this WebApp, still at the observed version.

    A failed `test` answers 422, a stale version 409.
    """
    references = metadata(step.target).get("ownerReferences")
    listed = references if isinstance(references, list) else []
    index = next(i for i, ref in enumerate(listed) if isinstance(ref, Mapping) and ref.get("controller") is True)
    return [
        {"op": "test", "path": f"/metadata/ownerReferences/{index}/uid", "value": uid},
        {"op": "test", "path": f"/metadata/ownerReferences/{index}/controller", "value": True},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": meta_text(step.target, "resourceVersion")},
        *step.operations,
    ]


def _deleting(webapp: RawObject) -> bool:
    return metadata(webapp).get("deletionTimestamp") is not None
