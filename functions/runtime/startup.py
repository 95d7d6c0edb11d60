"""The cold start as a trace of its own: from the start of the process to the first request that it can answer.

It is a root, linked from the first request's span: as a child it would have begun before its parent.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from opentelemetry.context import Context
from opentelemetry.trace import Link, Tracer, set_span_in_context

from functions.runtime.names import Attr, LinkKind, Span


class Startup:
    """Notes the ends of phases while no tracer exists yet; `finish` makes spans of them."""

    def __init__(self) -> None:
        self._began = _process_start()
        self._phases: list[tuple[str, int]] = []
        self.seconds = 0.0

    def reached(self, phase: str) -> None:
        """End a phase; the next one begins."""
        self._phases.append((phase, time.time_ns()))

    def finish(self, tracer: Tracer, service: str) -> Link:
        """Record the spans; the link is for the first request."""
        end = self._phases[-1][1] if self._phases else time.time_ns()
        self.seconds = (end - self._began) / 1e9
        root = tracer.start_span(f"{Span.INIT} {service}", context=Context(), start_time=self._began)
        context, start = set_span_in_context(root, Context()), self._began
        for phase, reached in self._phases:
            tracer.start_span(phase, context=context, start_time=start).end(reached)
            start = reached
        root.end(end)
        return Link(root.get_span_context(), {Attr.LINK: LinkKind.INIT})


def _process_start() -> int:
    """When this process was started, in nanoseconds of the epoch (proc(5), `starttime` and `btime`)."""
    try:
        ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return time.time_ns()
    age = uptime - ticks / os.sysconf("SC_CLK_TCK")
    return time.time_ns() - int(max(0.0, age) * 1e9)
