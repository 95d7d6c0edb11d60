"""`python -m tests.screenshot [FILE]`: the picture of the waterfall in the README, from a story that really happened.

A WebApp is created while somebody keeps writing notes on it, so that there is a conflict to be seen; what came of it is
drawn as by `webapp trace --html` and photographed in a headless Chromium.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from functions.dev import story, tracetree, waterfall
from functions.dev.controlplane import ControlPlane
from functions.dev.jaeger import Jaeger
from functions.dev.operator import Operator
from functions.dev.otlp import Happening
from functions.dev.otlp import Span as Told
from functions.dev.processes import ProcessGroup
from functions.dev.traces import TraceError, Traces
from functions.runtime.names import Attr, Mark, Span
from tests import browser
from tests.cluster.admin import NAMESPACE, WEBAPP, Admin, until

FILE = Path(__file__).parents[1] / "docs" / "trace.png"
TEAM, NAME = "shop", "checkout"
WIDTH, HEIGHT = 1280, 900
TRIES, NOTES = 10, 15
FLUSHED_SECONDS = 1.0


def main(file: Path = FILE) -> None:
    """Make the story, draw it, take the picture."""
    with TemporaryDirectory() as folder:
        page = Path(folder) / "trace.html"
        spans = _story()
        page.write_text(waterfall.page(f"{TEAM}/{NAME}", spans), encoding="utf-8")
        rows = [node.span for root in tracetree.grow(spans) for _, node in root.walk()]
        picked = next(number for number, span in enumerate(rows) if span.name == Span.RECONCILE)
        browser.picture(page, file, width=WIDTH, height=HEIGHT, fragment=f"#{picked}")


def _story() -> list[Told]:
    """The first story in which there was a conflict; without one after some tries, the last."""
    with ControlPlane() as cluster, Jaeger() as jaeger, ProcessGroup() as processes, Traces(jaeger.query) as traces:
        cluster.install()
        admin, operator = Admin(cluster.kubeconfig), Operator(cluster, processes)
        settings = {**jaeger.settings, "OTEL_BSP_SCHEDULE_DELAY": "200"}
        operator.start_bridge(operator.start_function(settings), settings)
        found: list[Told] = []
        for number in range(TRIES):
            team = f"{TEAM}-{number}" if number else TEAM
            admin.create(NAMESPACE, {"metadata": {"name": team}})
            found = _created(admin, traces, team)
            if any(each.name == Mark.CONFLICT for each in _happenings(found)):
                break
        return found


def _created(admin: Admin, traces: Traces, team: str) -> list[Told]:
    meta, spec = {"name": NAME, "namespace": team}, {"image": "nginx:1.27", "host": "checkout.example.com"}
    admin.create(WEBAPP, {"apiVersion": WEBAPP.api_version, "kind": WEBAPP.kind, "metadata": meta, "spec": spec})
    for number in range(NOTES):
        admin.merge(WEBAPP, team, NAME, {"metadata": {"annotations": {"note": str(number)}}})
    until(lambda: "True" in [each["status"] for each in _conditions(admin, team) if each["type"] == "Ready"])
    until(lambda: _told(traces, team))
    time.sleep(FLUSHED_SECONDS)
    return _told(traces, team)


def _conditions(admin: Admin, team: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = admin.get(WEBAPP, team, NAME).get("status", {}).get("conditions", [])
    return found


def _told(traces: Traces, team: str) -> list[Told]:
    try:
        found = story.of_webapp(traces, team, NAME)
    except TraceError:
        return []
    return next((one for one in found if any(_creates(span) for span in one)), [])


def _creates(span: Told) -> bool:
    return str(span.attributes.get(Attr.PLAN, "")).startswith("create Deployment")


def _happenings(spans: list[Told]) -> list[Happening]:
    return [each for span in spans for each in span.happenings]


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
