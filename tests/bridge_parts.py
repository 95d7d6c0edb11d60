"""News, answers and objects for the tests of the event bridge."""

from __future__ import annotations

import json
from typing import Any

from event_bridge.answer import Answer, Verdict
from event_bridge.backlog import News, Write
from event_bridge.pruning import Pruned, Pruner
from functions.webapp.contract import Cause, Change, Key, Notice, ObjectRef
from functions.webapp.resources import DEPLOYMENT, Resource
from functions.webapp.resources import webapp as webapp_resource

WEBAPP = webapp_resource()
OK = Answer(Verdict.ACKNOWLEDGED, 204)
POISON = Answer(Verdict.POISON, 422, "422")
BUSY = Answer(Verdict.AGAIN, 503, "503")
NOBODY = Answer(Verdict.AGAIN, error_type="connect", sink=True)


def ok(*wrote: Write, requeue_after: float = 0.0) -> Answer:
    """An acknowledgement that names writes."""
    return Answer(Verdict.ACKNOWLEDGED, 204, wrote=frozenset(wrote), requeue_after=requeue_after)


def change(
    name: str = "a",
    version: int = 1,
    *,
    at: float = 0.0,
    what: Change = Change.MODIFIED,
    child: bool = False,
    cause: Cause = Cause.WATCH,
    incarnation: int = 1,
) -> News:
    """News of WebApp `name`, or of its Deployment."""
    uid = f"{name}-{incarnation}"
    resource, object_uid = (DEPLOYMENT, f"{uid}-deployment") if child else (WEBAPP, uid)
    ref = ObjectRef(resource, "team", name, object_uid, str(version))
    return News(Notice(Key("team", name, uid), ref, what, cause), at)


def announcement(
    name: str = "a", version: int = 1, *, at: float = 0.0, cause: Cause = Cause.SYNC, incarnation: int = 1
) -> News:
    """A sync of WebApp `name`."""
    return change(name, version, at=at, what=Change.SYNC, cause=cause, incarnation=incarnation)


def stored(name: str = "a", version: int = 1, *, uid: str = "", status: Any = None, **spec: Any) -> dict[str, Any]:
    """A WebApp as the API server sends it."""
    meta = {"name": name, "namespace": "team", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    obj = {"apiVersion": WEBAPP.api_version, "kind": WEBAPP.kind, "metadata": meta, "spec": {"image": "nginx", **spec}}
    return obj if status is None else {**obj, "status": status}


def owned(
    name: str = "a", version: int = 1, *, owner: str | None = None, resource: Resource = DEPLOYMENT, **parts: Any
) -> dict[str, Any]:
    """A child of WebApp `name`; `owner` is the uid it points to, "" for none."""
    uid = f"uid-{name}" if owner is None else owner
    ref = {"apiVersion": WEBAPP.api_version, "kind": WEBAPP.kind, "name": name, "uid": uid, "controller": True}
    meta = {
        "name": name,
        "namespace": "team",
        "uid": f"{resource.kind}-{name}",
        "resourceVersion": str(version),
        "ownerReferences": [ref] if uid else [],
    }
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": meta,
        "spec": {"replicas": 1},
        **parts,
    }


def pruned(obj: dict[str, Any], resource: Resource | None = None) -> Pruned:
    """What the bridge keeps of it."""
    kinds = {each.kind: each for each in (WEBAPP, DEPLOYMENT)}
    return Pruner(resource or kinds[obj["kind"]], WEBAPP).prune(json.loads(json.dumps(obj)))
