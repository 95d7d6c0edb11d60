"""Pure: one tree out of the spans of many traces, and its lines for a terminal.

A message boundary is a parent, an object boundary is a link: what a reconcile wrote begins a trace of its own that
links back to it. Here such a trace hangs below the span that it links to, so that one apply gives one picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from functions.dev import spantext
from functions.dev.otlp import Reference, Span
from functions.runtime.names import Attr, LinkKind

Tone = Literal["", "error", "conflict", "note", "link"]
_CAUSES = (LinkKind.STAMP, LinkKind.REPLAY, LinkKind.WEBAPP, LinkKind.CREATION, LinkKind.AMBIENT)


@dataclass(slots=True)
class Node:
    """A span and what came of it; `via` is the kind of link by which it hangs there, "" for a child of its parent."""

    span: Span
    via: str = ""
    children: list[Node] = field(default_factory=list)
    above: Node | None = None
    lost: list[Reference] = field(default_factory=list)
    """Links to spans that are not there."""

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Node]]:
        """The node and all below it, in the order of their lines."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)

    def hang(self, above: Node, via: str = "") -> None:
        """Put it below another one, unless that is below itself."""
        over: Node | None = above
        while over is not None:
            if over is self:
                return
            over = over.above
        self.above, self.via = above, via
        above.children.append(self)


@dataclass(frozen=True, slots=True)
class Line:
    """One line: offset and duration in nanoseconds, None where there is none; `branch` draws the tree."""

    offset: int
    duration: int | None
    branch: str
    title: str
    detail: str
    tone: Tone


def grow(spans: Iterable[Span]) -> list[Node]:
    """The trees, earliest first; a span whose parent is not there stands at the top, or below what it links to."""
    nodes = {(span.trace_id, span.span_id): Node(span) for span in spans}
    for node in nodes.values():
        if parent := nodes.get((node.span.trace_id, node.span.parent)):
            node.hang(parent)
    for node in nodes.values():
        for link in node.span.links:
            target = nodes.get((link.trace_id, link.span_id))
            if target is None:
                node.lost.append(link)
            elif link.attributes.get(Attr.LINK) == LinkKind.INIT and target.above is None:
                target.hang(node, LinkKind.INIT)
    for node in nodes.values():
        for link in node.span.links if node.above is None else ():
            kind = str(link.attributes.get(Attr.LINK))
            if (target := nodes.get((link.trace_id, link.span_id))) and kind in _CAUSES:
                node.hang(target, kind)
                break
    for node in nodes.values():
        node.children.sort(key=lambda child: child.span.start)
    return sorted((node for node in nodes.values() if node.above is None), key=lambda node: node.span.start)


def lines(roots: list[Node]) -> Iterator[Line]:
    """The trees as lines; offsets count from the first root: a cold start it waited for began before it."""
    if roots:
        zero = roots[0].span.start
        for root in roots:
            yield from _lines(root, zero, "", "")


def _lines(node: Node, zero: int, first: str, rest: str) -> Iterator[Line]:
    span, more = node.span, bool(node.children)
    title = f"⇢ {node.via}: {spantext.title(span)}" if node.via else spantext.title(span)
    tone: Tone = "error" if span.failed else "link" if node.via else ""
    yield Line(span.start - zero, span.end - span.start, first, title, spantext.detail(span), tone)
    below = rest + ("│ " if more else "  ")
    for each in span.happenings:
        kind: Tone = "conflict" if spantext.is_conflict(each) else "note"
        yield Line(each.time - zero, None, below, *spantext.happening(each), kind)
    for link in node.lost:
        told = f"{link.attributes.get(Attr.LINK, 'link')}: trace {link.trace_id}"
        yield Line(span.start - zero, None, below, f"⇠ {told}", "not recorded, or not kept any more", "note")
    for child in node.children:
        last = child is node.children[-1]
        yield from _lines(child, zero, rest + ("└ " if last else "├ "), rest + ("  " if last else "│ "))


def text(line: Line) -> str:
    """The line as plain text, in columns."""
    duration = spantext.time(line.duration) if line.duration is not None else ""
    return f"{spantext.time(line.offset):>9} {duration:>9}  {line.branch}{line.title}  {line.detail}".rstrip()
