"""Which traces are recorded: a sampled caller's always, a share of the others, and what a sampled trace led to.

Objects carry the trace that wrote them. Following those links keeps the whole story of a change together: the trace of
a Deployment's event is recorded if the trace that created the Deployment was.
"""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult, TraceIdRatioBased
from opentelemetry.trace import Link, SpanKind, TraceState, get_current_span
from opentelemetry.util.types import Attributes

from functions.runtime.names import Attr, LinkKind

_FORCING = {LinkKind.CREATION, LinkKind.REPLAY, LinkKind.STAMP}
"""Links that come from our own events and our own objects; anybody may write the others."""


class LinkAware(Sampler):
    """Sampled parent: yes. Unsampled parent or none: yes if a link of ours is sampled. No parent at all: `ratio`."""

    def __init__(self, ratio: float) -> None:
        self._ratio = TraceIdRatioBased(ratio)

    def should_sample(  # noqa: PLR0913, PLR0917 - the SDK's signature
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """Decide for one span, when it starts."""
        parent = get_current_span(parent_context).get_span_context()
        linked = not (parent.is_valid and not parent.is_remote) and any(map(_forces, links or ()))
        if (parent.is_valid and parent.trace_flags.sampled) or linked:
            return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes, parent.trace_state)
        if parent.is_valid:
            return SamplingResult(Decision.DROP, None, parent.trace_state)
        return self._ratio.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)

    def get_description(self) -> str:
        """Name for the SDK's logs."""
        return f"LinkAware({self._ratio.get_description()})"


def _forces(link: Link) -> bool:
    return link.context.trace_flags.sampled and (link.attributes or {}).get(Attr.LINK) in _FORCING
