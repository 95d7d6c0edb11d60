"""What happened to a WebApp, told by the real parts: bridge and function export to Jaeger, and are asked for there."""

import json
import re
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from functions.cli import app
from functions.dev import story, tracetree
from functions.dev.jaeger import Jaeger
from functions.dev.operator import Operator
from functions.dev.processes import ProcessGroup
from functions.dev.traces import TraceError, Traces
from functions.runtime.names import Attr, LinkKind, Mark, Span
from functions.webapp.resources import DEPLOYMENT
from tests import browser
from tests.cluster.admin import NAMESPACE, WEBAPP, until
from tests.cluster.traced import Stage

NAME = "web"


@pytest.fixture(scope="module")
def operated(cluster, admin) -> Iterator[SimpleNamespace]:
    """Bridge, function and Jaeger, and a WebApp in a namespace of its own that became ready and was then edited."""
    namespace = "traced"
    admin.create(NAMESPACE, {"metadata": {"name": namespace}})
    with Jaeger() as jaeger, ProcessGroup() as processes, Traces(jaeger.query) as traces:
        operator = Operator(cluster, processes)
        settings = {**jaeger.settings, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        url = operator.start_function(settings)
        operator.start_bridge(url, {**settings, "WEBAPP_NAMESPACES": namespace})
        spec = {"image": "nginx:1.27"}
        meta = {"name": NAME, "namespace": namespace}
        admin.create(WEBAPP, {"apiVersion": WEBAPP.api_version, "kind": WEBAPP.kind, "metadata": meta, "spec": spec})
        until(lambda: became(told(traces, namespace), "Available") and creation(told(traces, namespace)))
        yield SimpleNamespace(admin=admin, namespace=namespace, jaeger=jaeger, traces=traces, url=url)
    admin.delete(NAMESPACE, "", namespace)


def told(traces, namespace):
    """All spans about the WebApp so far."""
    try:
        return [span for found in story.of_webapp(traces, namespace, NAME) for span in found]
    except TraceError:
        return []


def became(spans, reason):
    changes = [each for span in spans for each in span.happenings if each.name == Mark.CONDITION_CHANGED]
    return any(each.attributes[Attr.CONDITION_TO] == reason for each in changes)


def webapp(*arguments, operated):
    done = CliRunner().invoke(app, ["trace", *arguments, "--jaeger", operated.jaeger.query], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def creation(spans):
    """The publish span of the trace in which the children were created; the last of its spans to arrive."""
    made = {span.trace_id for span in spans if span.attributes.get(Attr.PLAN, "").startswith("create Deployment")}
    return next((span for span in spans if span.name == Span.PUBLISH and span.trace_id in made), None)


def created(operated):
    return creation(told(operated.traces, operated.namespace))


def test_ready_is_reached_from_the_trace_of_the_create_by_links(operated):
    first = created(operated)
    spans = story.of_trace(operated.traces, first.trace_id)
    assert became(spans, "Available")
    assert not became([span for span in spans if span.trace_id == first.trace_id], "Available")
    (root,) = tracetree.grow(spans)
    assert root.span == first
    stamped = [node for _, node in root.walk() if node.via == LinkKind.STAMP]
    assert {node.above.span.name for node in stamped if node.above} == {Span.RECONCILE}


def test_trace_command_tells_the_story_from_create_to_ready(operated):
    text = webapp("--id", created(operated).trace_id, operated=operated)
    order = [
        "publish webapp-events  WebApp web",
        "create Deployment, create Service, update status",
        "⇢ stamp: publish",
        "→ Available",
    ]
    places = [text.index(each) for each in order]
    assert places == sorted(places)


def test_newest_story_is_the_last_edit(operated):
    operated.admin.merge(WEBAPP, operated.namespace, NAME, {"spec": {"image": "nginx:1.28"}})
    until(lambda: "patch Deployment" in webapp(f"{operated.namespace}/{NAME}", operated=operated))
    text = webapp(f"{operated.namespace}/{NAME}", operated=operated)
    assert "WebApp web modified" in text
    assert "create Deployment" not in text
    assert "create Deployment" in webapp(f"{operated.namespace}/{NAME}", "--all", operated=operated)


@pytest.fixture(scope="module")
def conflicted(cluster, operated, tmp_path_factory):
    """The trace of a reconcile that was sent a state of before somebody changed the Deployment, and both versions."""
    stage = Stage(operated.admin, operated.namespace, cluster.kubeconfig, tmp_path_factory.mktemp("stage"))
    stage.url = operated.url
    uid = stage.look()["metadata"]["uid"]
    seen, owned = stage.state()
    children = {child["kind"]: child for child in map(json.loads, owned)}
    sent = children[DEPLOYMENT.kind]["metadata"]["resourceVersion"]  # the Deployment itself may have moved on
    change = {"metadata": {"labels": {"app.kubernetes.io/managed-by": "somebody"}}}
    found = stage.admin.merge(DEPLOYMENT, operated.namespace, NAME, change)["metadata"]["resourceVersion"]
    spec = {**json.loads(seen or b"")["spec"], "image": "nginx:1.29"}
    stage.admin.merge(WEBAPP, operated.namespace, NAME, {"spec": spec})
    event = {
        "specversion": "1.0",
        "id": "stale",
        "type": "com.example.platform.webapp.modified.v1",
        "source": "//tests",
        "data": {
            "webapp": {"namespace": operated.namespace, "name": NAME, "uid": uid},
            "reason": "watch",
            "snapshot": {"webapp": stage.look(), "owned": list(children.values())},
        },
    }
    answer = stage.post(json.dumps(event).encode(), content_type="application/cloudevents+json")
    assert answer.status == 204
    trace_id = answer.headers["traceresponse"].split("-")[1]
    until(lambda: Span.RECEIVE in {span.name for span in operated.traces.get(trace_id)})
    return SimpleNamespace(trace_id=trace_id, sent=sent, found=found)


def test_conflict_shows_the_attempt_and_both_versions(operated, conflicted):
    spans = {span.name: span for span in operated.traces.get(conflicted.trace_id)}
    reconcile = spans[Span.RECONCILE]
    conflict, *_ = [each.attributes for each in reconcile.happenings if each.name == Mark.CONFLICT]
    assert conflict[Attr.OBJECT_KIND] == DEPLOYMENT.kind
    assert conflict[Attr.ATTEMPT] == 1
    assert conflict[Attr.VERSION_SENT] == conflicted.sent
    assert int(str(conflict[Attr.VERSION_FOUND])) >= int(conflicted.found)
    assert int(str(reconcile.attributes[Attr.ATTEMPTS])) >= 2  # the bridge is at work too
    assert not reconcile.failed
    text = webapp("--id", conflicted.trace_id, operated=operated)
    assert re.search(rf"! conflict  Deployment: sent {conflicted.sent}, found \d+, attempt 1", text)


def test_page_draws_every_span_and_marks_the_conflict(operated, conflicted, tmp_path):
    page = tmp_path / "story.html"
    webapp("--id", conflicted.trace_id, "--html", str(page), operated=operated)
    text = page.read_text(encoding="utf-8")
    rows = json.loads(text.partition('id="data">')[2].partition("</script>")[0])["rows"]
    picked = next(index for index, row in enumerate(rows) if row["conflict"])
    drawn = browser.dom(page, f"#{picked}")
    assert drawn.count('class="bar"') == len(rows)
    assert 'class="mark clash"' in drawn
    assert Attr.VERSION_FOUND in drawn.partition("<aside")[2].partition("</aside>")[0]
    assert "src=" not in text
    assert "href=" not in text


def test_trace_that_is_not_there_is_an_error(operated):
    with pytest.raises(TraceError, match="has no trace 0000000000000000000000000000abcd"):
        webapp("--id", "abcd".rjust(32, "0"), operated=operated)
