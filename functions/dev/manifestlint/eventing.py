"""Pure: the rules of Eventing's validation webhook for the kinds that we ship.

Source: knative/eventing `pkg/apis/{eventing,sources,duck}/v1/*_validation.go` and `delivery_types.go`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_ATTRIBUTE: Final = re.compile(r"[a-z][a-z0-9]*")
_PERIOD: Final = re.compile(
    r"P(?=.)(?:\d+Y)?(?:\d+M)?(?:\d+W)?(?:\d+D)?(?:T(?=.)(?:[\d.]+H)?(?:[\d.]+M)?(?:[\d.]+S)?)?"
)


def faults(manifest: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a Broker, Trigger, SinkBinding or ApiServerSource; nothing is, with any other manifest."""
    group, spec = str(manifest.get("apiVersion")).partition("/")[0], manifest.get("spec") or {}
    match group, manifest.get("kind"):
        case "eventing.knative.dev", "Broker":
            found = _delivery(spec.get("delivery") or {})
        case "eventing.knative.dev", "Trigger":
            found = _trigger(spec)
        case "sources.knative.dev", "SinkBinding":
            found = _binding(manifest, spec)
        case "sources.knative.dev", "ApiServerSource":
            found = _source(spec)
        case _:
            return
    yield from (f"spec.{fault}" for fault in found)


def _delivery(delivery: Mapping[str, Any]) -> Iterator[str]:
    if delivery.get("retry", 0) < 0:
        yield f"delivery.retry: {delivery['retry']} must be 0 or more"
    if (policy := delivery.get("backoffPolicy", "linear")) not in {"linear", "exponential"}:
        yield f"delivery.backoffPolicy: {policy!r} must be linear or exponential"
    for field in ("backoffDelay", "timeout"):
        if (value := delivery.get(field, "PT1S")) and not _PERIOD.fullmatch(value):
            yield f"delivery.{field}: {value!r} is no ISO 8601 duration, such as PT0.5S"
    if "deadLetterSink" in delivery:
        yield from (f"delivery.deadLetterSink{fault}" for fault in _destination(delivery["deadLetterSink"]))
    if "retryAfterMax" in delivery:
        yield "delivery.retryAfterMax: needs the flag delivery-retryafter"


def _trigger(spec: Mapping[str, Any]) -> Iterator[str]:
    if not spec.get("broker"):
        yield "broker: is needed"
    for name in (spec.get("filter") or {}).get("attributes") or {}:
        if not _ATTRIBUTE.fullmatch(name):
            yield f"filter.attributes.{name}: must be lower-case letters and digits, and begin with a letter"
    yield from (f"subscriber{fault}" for fault in _destination(spec.get("subscriber")))
    yield from _delivery(spec.get("delivery") or {})


def _binding(manifest: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[str]:
    subject = spec.get("subject") or {}
    for field in ("apiVersion", "kind"):
        if not subject.get(field):
            yield f"subject.{field}: is needed"
    if bool(subject.get("name")) == bool(subject.get("selector")):
        yield "subject: needs a name or a selector, and not both"
    here = manifest.get("metadata", {}).get("namespace")
    if subject.get("namespace", here) != here:
        yield "subject.namespace: must be the SinkBinding's own"
    yield from (f"sink{fault}" for fault in _destination(spec.get("sink")))


def _source(spec: Mapping[str, Any]) -> Iterator[str]:
    if (mode := spec.get("mode", "Reference")) not in {"Reference", "Resource"}:
        yield f"mode: {mode!r} must be Reference or Resource"
    if not spec.get("resources"):
        yield "resources: one is needed"
    for each in (*spec.get("resources", ()), *([spec["owner"]] if "owner" in spec else [])):
        if not str(each.get("kind") or "").strip() or str(each.get("apiVersion")).count("/") > 1:
            yield f"resources: {dict(each)} needs a kind and an apiVersion such as apps/v1"
    yield from (f"sink{fault}" for fault in _destination(spec.get("sink")))


def _destination(where: Mapping[str, Any] | None) -> Iterator[str]:
    """A duck.knative.dev Destination: a reference, a URI, or a URI relative to a reference."""
    ref = (where or {}).get("ref")
    if not where or not (ref or where.get("uri")):
        yield ": needs a ref or a uri"
    elif ref:
        yield from (f".ref.{field}: is needed" for field in ("apiVersion", "kind", "name") if not ref.get(field))
