"""The names of spans, attributes, links and events with what they mean, and the metrics as their processes have them.

docs/tracing.md holds these as tables, each between two comments; `page` puts fresh ones in.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import Histogram, InMemoryMetricReader
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from event_bridge.figures import Figures as BridgeFigures
from event_bridge.settings import load as bridge_settings
from functions.admission.figures import Figures as AdmissionFigures
from functions.authn.breaker import State
from functions.authn.measures import Measures as AuthnMeasures
from functions.history.recorder.measures import Measures as RecorderMeasures
from functions.runtime import names
from functions.runtime.instruments import Instruments

_CONSTANT = re.compile(r"^    (?P<name>[A-Z_]+): Final = [^#]+(?:#: (?P<meaning>.+))?$", re.MULTILINE)
_BLOCK = re.compile(r"(<!-- table: (?P<table>[a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_UNITS = {"s": "seconds", "1": ""}

Row = tuple[str, ...]


class Unexplained(Exception):
    """A name without its `#:` comment; the message names it."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its own name, what Prometheus calls it (a histogram without `_bucket`), its type, what it counts."""

    name: str
    prometheus: str
    type: str
    meaning: str
    labels: tuple[str, ...] = ()


def explained(names_of: type) -> list[Row]:
    """Value and meaning of each constant of a class in `names`. Raises Unexplained."""
    rows: list[Row] = []
    for found in _CONSTANT.finditer(inspect.getsource(names_of)):
        if not found["meaning"]:
            raise Unexplained(f"{names_of.__name__}.{found['name']} in names.py: say what it means, in a `#:` comment")
        rows.append((f"`{getattr(names_of, found['name'])}`", found["meaning"].replace("|", "\\|")))
    return rows


def of_functions() -> list[Metric]:
    """What the reconcile function pushes by OTLP."""
    return _pushed_by(Instruments)


def of_recorder() -> list[Metric]:
    """What the recorder of the history pushes by OTLP."""
    return _pushed_by(RecorderMeasures)


def _pushed_by(measures: Callable[[MeterProvider], object]) -> list[Metric]:
    reader = InMemoryMetricReader()
    instruments = measures(MeterProvider([reader], shutdown_on_exit=False))
    for instrument in vars(instruments).values():
        instrument.add(0) if hasattr(instrument, "add") else instrument.record(0)
    data = reader.get_metrics_data()
    found = [] if data is None else data.resource_metrics[0].scope_metrics[0].metrics
    rows = []
    for each in found:
        type_ = "histogram" if isinstance(each.data, Histogram) else "counter"
        rows.append(
            Metric(each.name, prometheus_name(each.name, each.unit or "", type_), type_, each.description or "")
        )
    return sorted(rows, key=lambda metric: metric.name)


def prometheus_name(name: str, unit: str, type_: str) -> str:
    """How Prometheus calls an OpenTelemetry metric (OpenTelemetry specification, "Prometheus and OpenMetrics")."""
    parts = [re.sub(r"[^a-zA-Z0-9_]", "_", name), _UNITS[unit], "total" if type_ == "counter" else ""]
    return "_".join(part for part in parts if part)


def of_bridge() -> list[Metric]:
    """What the bridge shows on `/metrics`."""
    return _shown(BridgeFigures(kind.kind for kind in bridge_settings({}).kinds).page())


def of_webhooks() -> list[Metric]:
    """What the admission and authentication webhooks show on `/metrics`."""
    registry = CollectorRegistry()
    AdmissionFigures(registry)
    AuthnMeasures(registry).watch(lambda: State.CLOSED, lambda: 0)
    return _shown(generate_latest(registry))


def _shown(page: bytes) -> list[Metric]:
    rows = []
    for family in text_string_to_metric_families(page.decode()):
        if family.name.endswith("_created"):
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = sorted({label for sample in family.samples for label in sample.labels} - {"le"})
        rows.append(Metric(family.name, name, family.type, family.documentation.rstrip("."), tuple(labels)))
    return sorted(rows, key=lambda metric: metric.name)


def tables() -> dict[str, str]:
    """Every table by the name that its comment in the page has."""
    shown = ("metric", "type", "labels", "what it counts")
    rows: dict[str, tuple[Row, list[Row]]] = {
        "spans": (("span", "what it is"), explained(names.Span)),
        "attributes": (("attribute", "what it says"), explained(names.Attr)),
        "links": (("`webapp.link`", "where the other span comes from"), explained(names.LinkKind)),
        "events": (("event", "what happened"), explained(names.Mark)),
        "function metrics": (("metric", "in Prometheus", "type", "what it counts"), _pushed(of_functions())),
        "recorder metrics": (("metric", "in Prometheus", "type", "what it counts"), _pushed(of_recorder())),
        "bridge metrics": (shown, _scraped(of_bridge())),
        "webhook metrics": (shown, _scraped(of_webhooks())),
    }
    return {name: _table(heading, found) for name, (heading, found) in rows.items()}


def _pushed(metrics: Iterable[Metric]) -> list[Row]:
    return [(f"`{each.name}`", f"`{each.prometheus}`", each.type, each.meaning) for each in metrics]


def _scraped(metrics: Iterable[Metric]) -> list[Row]:
    return [(f"`{each.prometheus}`", each.type, ", ".join(each.labels), each.meaning) for each in metrics]


def _table(heading: Row, rows: Iterable[Row]) -> str:
    lines = [heading, ("---",) * len(heading), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page(text: str) -> str:
    """The page with every table fresh. Raises KeyError for a table that nobody makes."""
    made = tables()
    return _BLOCK.sub(lambda block: f"{block[1]}{made[block['table']]}{block[3]}", text)
