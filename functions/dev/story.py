"""Everything that belongs to one story of a WebApp: traces, put together by following links both ways."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from functions.dev.otlp import Span
from functions.dev.traces import BACK, TraceError, Traces
from functions.runtime.names import Attr

SERVICES = ("webapp-bridge", "webapp-reconcile")
MAX_TRACES = 500


def of_webapp(traces: Traces, namespace: str, name: str) -> list[list[Span]]:
    """The stories of a WebApp, oldest first; a story is what links connect. Raises TraceError where there is none."""
    wanted = {Attr.NAMESPACE: namespace, Attr.NAME: name}
    spans = [span for service in SERVICES for span in traces.find(wanted, service)]
    if not spans:
        raise TraceError(f"{traces.url} has no trace of WebApp {namespace}/{name} in the last {BACK.days} days")
    return stories(_followed(traces, spans))


def of_trace(traces: Traces, trace_id: str) -> list[Span]:
    """The story that a trace belongs to. Raises TraceError where Jaeger does not have it."""
    spans = traces.get(trace_id)
    if not spans:
        raise TraceError(
            f"{traces.url} has no trace {trace_id}; it may not have been recorded, or not be kept any more"
        )
    keys = {(str(span.attributes[Attr.NAMESPACE]), str(span.attributes[Attr.NAME])) for span in spans if _named(span)}
    for namespace, name in sorted(keys):
        wanted = {Attr.NAMESPACE: namespace, Attr.NAME: name}
        spans += [span for service in SERVICES for span in traces.find(wanted, service)]
    found = stories(_followed(traces, spans))
    return next(story for story in found if trace_id in {span.trace_id for span in story})


def _named(span: Span) -> bool:
    return bool(span.attributes.get(Attr.NAMESPACE)) and bool(span.attributes.get(Attr.NAME))


def _followed(traces: Traces, spans: list[Span]) -> list[Span]:
    """With the traces that they link to, and those that these link to."""
    known = {span.trace_id for span in spans}
    open_ids = {link.trace_id for span in spans for link in span.links} - known
    while open_ids and len(known) < MAX_TRACES:
        more = [span for trace_id in sorted(open_ids) for span in traces.get(trace_id)]
        known |= open_ids
        spans = spans + more
        open_ids = {link.trace_id for span in more for link in span.links} - known
    return list({(span.trace_id, span.span_id): span for span in spans}.values())


def stories(spans: Iterable[Span]) -> list[list[Span]]:
    """Spans put together by the links between their traces, the story that began first at the front."""
    every = sorted(spans, key=lambda span: span.start)
    leader = {span.trace_id: span.trace_id for span in every}

    def find(trace_id: str) -> str:
        while leader[trace_id] != trace_id:
            trace_id = leader[trace_id]
        return trace_id

    for span in every:
        for link in span.links:
            if link.trace_id in leader:
                leader[find(link.trace_id)] = find(span.trace_id)
    ordered = sorted(every, key=lambda span: (find(span.trace_id), span.start))
    grouped = [list(group) for _, group in groupby(ordered, key=lambda span: find(span.trace_id))]
    return sorted(grouped, key=lambda story: story[0].start)


def newest(found: list[list[Span]]) -> list[Span]:
    """The story to show: the last one in which something changed, else the last one."""
    telling = [story for story in found if any(_changed(span) for span in story)]
    return (telling or found)[-1]


def _changed(span: Span) -> bool:
    return span.failed or span.attributes.get(Attr.OUTCOME) not in {None, "unchanged", "ignored", "stale"}
