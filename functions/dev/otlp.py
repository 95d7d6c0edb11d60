"""Pure: finished spans as the OpenTelemetry protocol tells them in JSON (opentelemetry-proto, `trace.proto`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Value = str | int | float | bool | tuple[Any, ...] | None
Attributes = Mapping[str, Value]

KINDS = ("", "internal", "server", "client", "producer", "consumer")
_ERROR = (2, "STATUS_CODE_ERROR")


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that a span tells of one moment; `time` in nanoseconds of the epoch."""

    name: str
    time: int
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Reference:
    """A link to a span of any trace."""

    trace_id: str
    span_id: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Span:
    """One finished span; ids in hex, `parent` "" for a root, times in nanoseconds of the epoch."""

    trace_id: str
    span_id: str
    parent: str
    name: str
    kind: str
    service: str
    start: int
    end: int
    failed: bool
    message: str
    attributes: Attributes
    happenings: tuple[Happening, ...]
    links: tuple[Reference, ...]

    @property
    def milliseconds(self) -> float:
        """How long it took."""
        return (self.end - self.start) / 1e6


def spans(traces: Mapping[str, Any]) -> list[Span]:
    """Every span of a `TracesData`, in the order of their starts; a repeated one counts once."""
    found = {(span.trace_id, span.span_id): span for span in _spans(traces)}
    return sorted(found.values(), key=lambda span: (span.start, span.end))


def _spans(traces: Mapping[str, Any]) -> Iterator[Span]:
    for group in traces.get("resourceSpans", ()):
        resource = _attributes(group.get("resource", {}))
        for scope in group.get("scopeSpans", ()):
            for raw in scope.get("spans", ()):
                yield _span(raw, str(resource.get("service.name", "")))


def _span(raw: Mapping[str, Any], service: str) -> Span:
    status = raw.get("status", {})
    return Span(
        trace_id=raw["traceId"],
        span_id=raw["spanId"],
        parent=raw.get("parentSpanId", ""),
        name=raw.get("name", ""),
        kind=_kind(raw.get("kind", 0)),
        service=service,
        start=int(raw.get("startTimeUnixNano", 0)),
        end=int(raw.get("endTimeUnixNano", 0)),
        failed=status.get("code") in _ERROR,
        message=status.get("message", ""),
        attributes=_attributes(raw),
        happenings=tuple(sorted(map(_happening, raw.get("events", ())), key=lambda each: each.time)),
        links=tuple(Reference(each["traceId"], each["spanId"], _attributes(each)) for each in raw.get("links", ())),
    )


def _happening(raw: Mapping[str, Any]) -> Happening:
    return Happening(raw.get("name", ""), int(raw.get("timeUnixNano", 0)), _attributes(raw))


def _kind(told: int | str) -> str:
    """The kind by its number or, as protobuf's own JSON has it, by its name."""
    return KINDS[told] if isinstance(told, int) else told.removeprefix("SPAN_KIND_").lower()


def _attributes(holder: Mapping[str, Any]) -> dict[str, Value]:
    return {each["key"]: _value(each.get("value", {})) for each in holder.get("attributes", ())}


def _value(told: Mapping[str, Any]) -> Value:
    match told:
        case {"stringValue": str(text)}:
            return text
        case {"intValue": number}:
            return int(number)
        case {"doubleValue": number}:
            return float(number)
        case {"boolValue": bool(truth)}:
            return truth
        case {"arrayValue": {"values": list(values)}}:
            return tuple(_value(value) for value in values)
        case _:
            return None
