"""Span trees as text in which only what a change of the code can change stands: ids as ordinals, no times, no ports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from functions.dev import tracetree
from functions.dev.otlp import Attributes, Happening, Reference, Span, Value
from functions.dev.tracetree import Node
from functions.runtime.names import Attr

_ANY = {Attr.AUDIT_ID, Attr.EVENT_AGE, Attr.BACKOFF, Attr.SERVER_PORT, "service.instance.id"}
_VERSIONS = {Attr.OBJECT_VERSION, Attr.VERSION_SENT, Attr.VERSION_FOUND}
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ID = re.compile(r"(UID-\d+)\.(\d+)\.")
_HOST = re.compile(r"127\.0\.0\.1:\d+|host='127\.0\.0\.1', port=\d+")
_TRACE = re.compile(r"\b[0-9a-f]{32}\b")


def of(spans: Iterable[ReadableSpan]) -> list[Span]:
    """Finished spans of this process in the form in which Jaeger gives them."""
    return sorted(map(_span, spans), key=lambda span: (span.start, span.end))


def rendered(spans: list[Span], namespace: str) -> str:
    """The trees of some spans, one attribute a line; `namespace` is what the test's namespace is called this time."""
    return _Rendering(spans, namespace).text()


class _Rendering:
    def __init__(self, spans: list[Span], namespace: str) -> None:
        self._roots = tracetree.grow(spans)
        self._namespace = namespace
        self._traces: dict[str, int] = {}
        self._uids: dict[str, int] = {}
        self._versions = sorted({int(each) for each in _versions(spans)})
        self._names = {(span.trace_id, span.span_id): span.name for span in spans}

    def text(self) -> str:
        return "".join(f"{line.rstrip()}\n" for root in self._roots for line in self._node(root, ""))

    def _node(self, node: Node, indent: str) -> Iterator[str]:
        span = node.span
        status = f"  ERROR {self._told(span.message)}" if span.failed else ""
        trace = f"  trace {self._ordinal(span.trace_id)}" if node.above is None or node.via else ""
        via = f"{node.via} ⇢ " if node.via else ""
        yield f"{indent}{via}{span.name}  [{span.kind}, {span.service}]{trace}{status}"
        inner = f"{indent}    "
        for key, value in sorted(span.attributes.items()):
            yield f"{inner}{key} = {self._value(key, value)}"
        for link in span.links:
            yield f"{inner}link {self._link(link)}"
        for each in span.happenings:
            yield f"{inner}event {each.name}"
            for key, value in sorted(each.attributes.items()):
                yield f"{inner}    {key} = {self._value(key, value)}"
        for child in node.children:
            yield from self._node(child, f"{indent}  ")

    def _link(self, link: Reference) -> str:
        name = self._names.get((link.trace_id, link.span_id), "elsewhere")
        return f"{link.attributes.get(Attr.LINK)}: {name}, trace {self._ordinal(link.trace_id)}"

    def _value(self, key: str, value: Value) -> str:
        if key in _ANY:
            return "…"
        return self._version(str(value)) if key in _VERSIONS else self._told(str(value))

    def _told(self, text: str) -> str:
        text = _TRACE.sub("TRACE", _HOST.sub("HOST", text.replace(self._namespace, "NAMESPACE")))
        text = _UID.sub(lambda found: f"UID-{self._uids.setdefault(found[0], len(self._uids) + 1)}", text)
        return _ID.sub(lambda found: f"{found[1]}.{self._version(found[2])}.", text)

    def _version(self, text: str) -> str:
        return f"VERSION-{self._versions.index(int(text)) + 1}" if text.isdigit() else text

    def _ordinal(self, trace_id: str) -> int:
        return self._traces.setdefault(trace_id, len(self._traces) + 1)


def _versions(spans: Iterable[Span]) -> Iterator[str]:
    for span in spans:
        for attributes in (span.attributes, *(each.attributes for each in span.happenings)):
            yield from (str(attributes[key]) for key in _VERSIONS if str(attributes.get(key, "")).isdigit())


def _span(span: ReadableSpan) -> Span:
    context, parent = span.get_span_context(), span.parent
    assert context is not None
    return Span(
        trace_id=f"{context.trace_id:032x}",
        span_id=f"{context.span_id:016x}",
        parent=f"{parent.span_id:016x}" if parent else "",
        name=span.name,
        kind=span.kind.name.lower(),
        service=str(span.resource.attributes["service.name"]),
        start=span.start_time or 0,
        end=span.end_time or 0,
        failed=span.status.status_code is StatusCode.ERROR,
        message=span.status.description or "",
        attributes=_attributes(span.attributes),
        happenings=tuple(Happening(each.name, each.timestamp, _attributes(each.attributes)) for each in span.events),
        links=tuple(
            Reference(f"{each.context.trace_id:032x}", f"{each.context.span_id:016x}", _attributes(each.attributes))
            for each in span.links
        ),
    )


def _attributes(found: Mapping[str, Any] | None) -> Attributes:
    return dict(found or {})
