"""Dashboard, alert rules and docs/tracing.md name what exists, and the golden trees name what the page explains."""

import json
import re
from pathlib import Path

import pytest
import yaml
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from functions.dev import generate, glossary
from functions.dev.dashboard import KNATIVE
from functions.runtime import names
from functions.runtime.instruments import Instruments

ROOT = Path(__file__).parents[2]
OBSERVABILITY = ROOT / "knative" / "observability"
PAGE = (ROOT / "docs" / "tracing.md").read_text(encoding="utf-8")
FUNCTIONS = {"sum", "max", "rate", "increase", "histogram_quantile", "absent", "by", "and", "or"}
ATTRIBUTES = {value for name, value in vars(names.Attr).items() if name.isupper()}


def expressions():
    panels = json.loads((OBSERVABILITY / "dashboard.json").read_text())["panels"]
    rules = yaml.safe_load((OBSERVABILITY / "alerts.yaml").read_text())["groups"][0]["rules"]
    return [each["expr"] for panel in panels for each in panel.get("targets", ())] + [rule["expr"] for rule in rules]


@pytest.fixture(scope="module")
def pushed():
    """What Prometheus would show of the function, by OpenTelemetry's own conversion."""
    reader = PrometheusMetricReader(disable_target_info=True)
    instruments = Instruments(MeterProvider([reader], shutdown_on_exit=False))
    for instrument in vars(instruments).values():
        instrument.add(1) if hasattr(instrument, "add") else instrument.record(1)
    yield list(text_string_to_metric_families(generate_latest(REGISTRY).decode()))
    reader.shutdown()


def test_conversion_of_names_is_the_one_of_opentelemetry(pushed):
    exposed = {f"{family.name}_total" if family.type == "counter" else family.name for family in pushed}
    assert {metric.prometheus for metric in glossary.of_functions()} <= exposed


def test_every_expression_asks_for_metrics_that_exist(pushed):
    samples = {sample.name for family in pushed for sample in family.samples}
    for metric in (*glossary.of_bridge(), *glossary.of_webhooks()):
        samples |= {metric.prometheus, *(f"{metric.prometheus}_{end}" for end in ("bucket", "count", "sum"))}
    for expression in expressions():
        bare = re.sub(r"\{[^}]*\}|\[[^]]*\]|by \([^)]*\)|\"[^\"]*\"", "", expression)
        asked = set(re.findall(r"[a-z_]+", bare)) - FUNCTIONS
        assert asked, expression
        assert asked <= samples | set(KNATIVE), expression


def test_every_expression_asks_for_labels_that_exist():
    scraped = {label for metric in (*glossary.of_bridge(), *glossary.of_webhooks()) for label in metric.labels}
    known = scraped | {key.replace(".", "_") for key in ATTRIBUTES} | {"le"}
    for expression in expressions():
        grouped = re.findall(r"by \(([^)]*)\)", expression)
        selected = re.findall(r"(\w+)=\"", expression)
        asked = {label.strip() for group in grouped for label in group.split(",")} | set(selected)
        assert asked <= known, expression


def test_values_that_rules_select_are_values_that_are_counted():
    page = "\n".join(expressions())
    assert set(re.findall(r'decision="(\w+)"', page)) <= {"queued"}
    assert set(re.findall(r'answer="(\w+)"', page)) <= {"2xx"}


def test_generated_files_are_fresh():
    assert generate.stale() == ""


def test_page_explains_every_name_that_a_golden_tree_shows():
    explained = set(re.findall(r"^\| `([^`]+)`", PAGE, re.MULTILINE))
    found = set()
    for path in (ROOT / "tests" / "data" / "traces").glob("*.txt"):
        for line in path.read_text().splitlines():
            if attribute := re.match(r" +([\w.]+) = ", f"{line} "):
                found.add(attribute[1])
            elif event := re.match(r" +event (\S+)", line):
                found.add(event[1])
            elif link := re.match(r" +link (\w+):", line):
                found.add(link[1])
            elif (
                (span := re.match(r" *(?:\w+ ⇢ )?(.+?)  \[(\w+), ", line))
                and "/apis/" not in line
                and "/api/" not in line
            ):
                found.add(span[1])
    found -= {"init webapp-reconcile", "import", "settings", "app"}
    assert len(found) > 50
    assert found <= explained


def test_name_without_a_meaning_is_refused(monkeypatch):
    source = 'class Span:\n    SECRET: Final = "secret"\n'
    monkeypatch.setattr("inspect.getsource", lambda _: source)
    with pytest.raises(glossary.Unexplained, match=r"Span\.SECRET"):
        glossary.explained(names.Span)
