"""Pure: no container may run as root: the guard's rule, for Pods and for what will make Pods.

Kubernetes takes the container's `securityContext.runAsNonRoot`, else the Pod's (core/v1, SecurityContext); anything but
true is a violation. A non-zero runAsUser does not stand in for it (Pod Security Standards, restricted).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from functions.admission.review import MalformedReview, Review
from functions.admission.sharing import items
from functions.admission.verdict import Reason, Verdict
from functions.admission.workloads import pod_spec
from functions.webapp.resources import KIND, RawObject, metadata

LISTS = ("initContainers", "containers", "ephemeralContainers")
_FLAG = "securityContext.runAsNonRoot"


@dataclass(frozen=True, slots=True)
class Violation:
    """One container that breaks the rule; `said` is what is wrong with the field."""

    field: str
    index: int
    name: str
    said: str

    def text(self, at: str) -> str:
        """Which container, which field below the Pod spec at path `at`, and what is wrong."""
        return f"container {self.name!r}: {at}.{self.field}[{self.index}].{_FLAG} {self.said}"


@dataclass(frozen=True)
class Guard:
    """`strict`: every container must say so itself. `deny_root_user`: runAsUser 0 is refused too, not warned of.

    `warn_workloads`: Deployments and the like, and WebApps of `group`, are told that their Pods will be refused.
    """

    group: str
    strict: bool = False
    deny_root_user: bool = False
    warn_workloads: bool = True

    def judge(self, review: Review) -> Verdict:
        """The verdict on one review; raises MalformedReview for a Pod that cannot be read."""
        if review.operation not in {"CREATE", "UPDATE"}:
            return Verdict(Reason.NOT_OURS)
        if review.is_pod:
            return self._pod(review)
        if (review.group, review.kind) == (self.group, KIND):
            return self._webapp(_map(review.obj, "spec"))
        spec, at = pod_spec(review)
        if spec is None:
            return Verdict(Reason.NOT_OURS)
        found = self.violations(spec)
        return self._foreseen(self._message(found, at)) if found else Verdict(Reason.COMPLIANT)

    def violations(self, spec: RawObject) -> list[Violation]:
        """Every container of a Pod spec that breaks the rule, in the order of the lists."""
        default = None if self.strict else _map(spec, "securityContext").get("runAsNonRoot")
        found = []
        for field, index, container in _containers(spec):
            own = _map(container, "securityContext").get("runAsNonRoot")
            if (default if own is None else own) is not True:
                said = (
                    "is false"
                    if own is False
                    else "is not set"
                    if default is None
                    else "is not set, the Pod's is false"
                )
                found.append(Violation(field, index, str(container.get("name")), said))
        return found

    def _pod(self, review: Review) -> Verdict:
        spec, old = _map(review.obj, "spec"), _map(review.old, "spec")
        _check_shape(spec)
        found, root = self.violations(spec), _root_users(spec)
        if self.deny_root_user:
            found, root = [*found, *root], []
        warnings = [f"{each.text('spec')}: the kubelet will not start it" for each in root]
        if not found:
            return Verdict(Reason.COMPLIANT, warnings=warnings)
        if review.operation == "UPDATE":
            if metadata(review.old).get("deletionTimestamp"):
                return Verdict(Reason.DELETED)
            found = [each for each in found if _changed(each, spec, old)]
            if not found:
                return Verdict(Reason.UNCHANGED)
        return Verdict(Reason.VIOLATION, allowed=False, message=self._message(found, "spec"), warnings=warnings)

    def _webapp(self, spec: RawObject) -> Verdict:
        """A WebApp sets the security of its Pods as a whole, in its own spec."""
        flag = _map(spec, "securityContext").get("runAsNonRoot")
        if flag is True:
            return Verdict(Reason.COMPLIANT)
        return self._foreseen(f"set spec.{_FLAG} to true: it {'is not set' if flag is None else 'is false'}")

    def _foreseen(self, message: str) -> Verdict:
        if not self.warn_workloads:
            return Verdict(Reason.TEMPLATE_VIOLATION)
        return Verdict(Reason.TEMPLATE_VIOLATION, warnings=(f"its Pods will be refused: {message}",))

    def _message(self, found: list[Violation], at: str) -> str:
        where = "in each container" if self.strict else f"there or in {at}.securityContext"
        return f"containers must not run as root, set runAsNonRoot to true {where}; " + ", ".join(
            each.text(at) for each in found
        )


def _check_shape(spec: RawObject) -> None:
    """What cannot be read is not waved through."""
    for field in LISTS:
        found = spec.get(field)
        absent = found is None and field != "containers"
        if not absent and not (isinstance(found, list) and all(isinstance(each, Mapping) for each in found)):
            raise MalformedReview(f"request.object.spec.{field}", "is not a list of containers: send a Pod of core/v1")


def _containers(spec: RawObject) -> Iterator[tuple[str, int, RawObject]]:
    return ((field, index, each) for field in LISTS for index, each in enumerate(items(spec, field)))


def _root_users(spec: RawObject) -> list[Violation]:
    """Containers that ask for uid 0 although runAsNonRoot is true for them."""
    default = _map(spec, "securityContext")
    found = []
    for field, index, container in _containers(spec):
        merged = {
            **default,
            **{key: value for key, value in _map(container, "securityContext").items() if value is not None},
        }
        if merged.get("runAsNonRoot") is True and merged.get("runAsUser") == 0:
            found.append(Violation(field, index, str(container.get("name")), "is true, but runAsUser is 0"))
    return found


def _changed(violation: Violation, spec: RawObject, old: RawObject) -> bool:
    """Whether an update brought the violation: the same container under the same Pod-level context is an old one."""
    if _map(spec, "securityContext") != _map(old, "securityContext"):
        return True
    before = {each.get("name"): each for each in items(old, violation.field)}
    return before.get(violation.name) != list(items(spec, violation.field))[violation.index]


def _map(parent: RawObject, field: str) -> RawObject:
    found = parent.get(field)
    return found if isinstance(found, Mapping) else {}
