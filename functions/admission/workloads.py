"""Pure: where the kinds that make Pods keep the spec of those Pods."""

from __future__ import annotations

from collections.abc import Mapping

from functions.admission.review import Review
from functions.webapp.resources import RawObject

_TEMPLATE = ("spec", "template", "spec")
_PATHS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("apps", "Deployment"): _TEMPLATE,
    ("apps", "StatefulSet"): _TEMPLATE,
    ("apps", "DaemonSet"): _TEMPLATE,
    ("apps", "ReplicaSet"): _TEMPLATE,
    ("", "ReplicationController"): _TEMPLATE,
    ("batch", "Job"): _TEMPLATE,
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template", "spec"),
}


def pod_spec(review: Review) -> tuple[RawObject | None, str]:
    """The Pod spec inside the reviewed object and its path; None where the kind makes no Pods that we know of."""
    path = _PATHS.get((review.group, review.kind))
    return (None, "") if path is None else (_at(review.obj, path), ".".join(path))


def _at(obj: RawObject, path: tuple[str, ...]) -> RawObject:
    for field in path:
        found = obj.get(field)
        obj = found if isinstance(found, Mapping) else {}
    return obj
