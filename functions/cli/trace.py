"""`webapp trace`: what happened to a WebApp, and why, as one tree or one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.output import console
from functions.webapp.errors import WebAppError

if TYPE_CHECKING:
    from functions.dev.otlp import Span
    from functions.dev.traces import Traces

DEFAULT_URL = "http://127.0.0.1:16686"
_STYLES = {"error": "bold red", "conflict": "yellow", "link": "cyan", "note": "dim", "": ""}


class NothingToTrace(WebAppError):
    """Neither a WebApp nor a trace id was named, or both, or one in a wrong form."""

    error_type = "nothing_to_trace"


def trace(
    *,
    webapp: Annotated[str, typer.Argument(metavar="[NAMESPACE/NAME]", help="The WebApp.")] = "",
    trace_id: Annotated[str, typer.Option("--id", metavar="TRACE_ID", help="The story that this trace is in.")] = "",
    every: Annotated[bool, typer.Option("--all", help="All stories of the WebApp, not only the newest.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with a waterfall instead.")
    ] = None,
    jaeger: Annotated[
        str, typer.Option("--jaeger", envvar="JAEGER_URL", metavar="URL", help="Jaeger's query service.")
    ] = DEFAULT_URL,
) -> None:
    """Show why a WebApp was reconciled, what was decided, changed and retried, and what came of it.

    A story is everything that links connect, over as many traces as it took: an edit, its writes, and what those set
    off until the WebApp was ready. By default the newest story in which something changed is shown.
    """
    from functions.dev import tracetree, waterfall
    from functions.dev.traces import Traces

    with Traces(jaeger) as traces:
        stories = _stories(traces, webapp, trace_id, every=every)
    if html:
        spans = [span for story in stories for span in story]
        html.write_text(waterfall.page(webapp or f"trace {trace_id}", spans), encoding="utf-8")
        typer.echo(f"wrote {html}")
        return
    from rich.text import Text

    target = console()
    for number, story in enumerate(stories):
        if number:
            target.print()
        for line in tracetree.lines(tracetree.grow(story)):
            target.print(Text(tracetree.text(line), _STYLES[line.tone]))
        target.print(Text(" ".join(["trace", *dict.fromkeys(span.trace_id for span in story)]), "dim"))


def _stories(traces: Traces, webapp: str, trace_id: str, *, every: bool) -> list[list[Span]]:
    from functions.dev import story

    if bool(webapp) == bool(trace_id):
        raise NothingToTrace("name either a WebApp, as NAMESPACE/NAME, or a trace, as --id TRACE_ID")
    if trace_id:
        if len(trace_id) != 32 or not set(trace_id) <= set("0123456789abcdef"):
            raise NothingToTrace(f"--id {trace_id!r}: a trace id is 32 hex digits; answers and logs name it")
        return [story.of_trace(traces, trace_id)]
    namespace, slash, name = webapp.partition("/")
    if not (namespace and slash and name):
        raise NothingToTrace(f"{webapp!r}: a WebApp is named as NAMESPACE/NAME, such as default/web")
    found = story.of_webapp(traces, namespace, name)
    return found if every else [story.newest(found)]
