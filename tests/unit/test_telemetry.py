"""Spans fail only by our word, contexts travel, and recorded stories stay whole."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Link, SpanContext, StatusCode, TraceFlags, get_current_span, use_span

from functions.runtime import kube, telemetry, web
from functions.runtime.credentials import Credentials
from functions.runtime.names import Attr, LinkKind
from functions.runtime.sampling import LinkAware
from functions.webapp.errors import NotFound, Unavailable
from functions.webapp.resources import DEPLOYMENT

TRACE, OTHER = 0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x0AF7651916CD43DD8448EB211C80319C


@pytest.fixture
def kept():
    return InMemorySpanExporter()


@pytest.fixture
def tracer(kept):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    return telemetry.tracer(provider)


def traceparent(trace=TRACE, span=1, sampled=True):
    return f"00-{trace:032x}-{span:016x}-{int(sampled):02x}"


def link(kind, sampled=True):
    return Link(SpanContext(OTHER, 2, True, TraceFlags(sampled)), {Attr.LINK: kind})


def context(sampled):
    return telemetry.extract({"traceparent": traceparent(sampled=sampled)})


@pytest.mark.parametrize(
    ("parent", "links", "recorded"),
    [
        (Context(), [], False),
        (context(True), [], True),
        (context(False), [], False),
        (Context(), [link(LinkKind.STAMP)], True),
        (Context(), [link(LinkKind.STAMP, sampled=False)], False),
        (Context(), [link(LinkKind.WEBAPP)], False),
        (Context(), [link(LinkKind.AMBIENT)], False),
        (Context(), [link(LinkKind.REPLAY)], True),
        (context(False), [link(LinkKind.CREATION)], True),
    ],
)
def test_who_decides_on_recording(parent, links, recorded):
    sampler = LinkAware(0.0)
    assert sampler.should_sample(parent, TRACE, "x", links=links).decision.is_sampled() == recorded


def test_children_follow_their_parent_whatever_they_link_to(kept):
    provider = TracerProvider(sampler=LinkAware(0.0))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = telemetry.tracer(provider)
    with tracer.start_as_current_span("parent"), tracer.start_as_current_span("child", links=[link(LinkKind.STAMP)]):
        pass
    assert kept.get_finished_spans() == ()


def test_share_of_new_traces_is_recorded():
    sampler = LinkAware(0.5)
    low, high = 1, (1 << 128) - 1
    assert [sampler.should_sample(None, each, "x").decision.is_sampled() for each in (low, high)] == [True, False]


def test_error_of_ours_leaves_the_span_to_whoever_handles_it(tracer, kept):
    with pytest.raises(NotFound), telemetry.span(tracer, "x"):
        raise NotFound("gone")
    (span,) = kept.get_finished_spans()
    assert span.status.status_code is StatusCode.UNSET
    assert span.events == ()


def test_defect_marks_the_span_by_its_class(tracer, kept):
    with pytest.raises(KeyError), telemetry.span(tracer, "x"):
        raise KeyError("secret")
    (span,) = kept.get_finished_spans()
    assert span.attributes[Attr.ERROR_TYPE] == "KeyError"
    assert "secret" not in str(span.to_json())


@pytest.mark.parametrize("sampled", [True, False])
def test_below_a_recorded_span_there_is_another_and_below_one_that_is_not_there_is_none(kept, sampled):
    provider = TracerProvider(sampler=LinkAware(0.0))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = telemetry.tracer(provider)
    with telemetry.span(tracer, "parent", context=context(sampled)) as parent, telemetry.span(tracer, "child") as child:
        assert (child is parent) != sampled
    assert [span.name for span in kept.get_finished_spans()] == (["child", "parent"] if sampled else [])


def test_below_a_span_of_another_process_there_is_one_of_this(tracer, kept):
    with use_span(get_current_span(context(sampled=True))), telemetry.span(tracer, "x"):
        pass
    assert [span.name for span in kept.get_finished_spans()] == ["x"]


def test_without_an_endpoint_spans_have_ids_and_are_not_recorded():
    span = telemetry.tracer(telemetry.provider("x", {})).start_span("x")
    assert len(telemetry.trace_id(span)) == 32
    assert not span.is_recording()


@pytest.mark.parametrize(
    "context",
    [
        Context(),
        telemetry.extract({"traceparent": f"00-{TRACE:032x}-{1:016x}-01", "tracestate": "a=b"}),
        telemetry.extract({"traceparent": f"00-{TRACE:032x}-{1:016x}-02"}),
    ],
)
def test_unrecorded_spans_are_those_of_the_sdk_whose_sampler_is_off(context):
    off = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False).get_tracer("x")
    found = []
    for tracer in (telemetry.tracer(telemetry.provider("x", {})), off):
        with tracer.start_as_current_span("x", context) as outer, tracer.start_as_current_span("y") as inner:
            assert get_current_span() is inner
        above, here = outer.get_span_context(), inner.get_span_context()
        assert (above.trace_id, above.is_valid) == (here.trace_id, True)
        assert here.span_id != above.span_id
        parent = get_current_span(context).get_span_context()
        assert (above.trace_id == parent.trace_id) == parent.is_valid
        found.append([(each.trace_flags, each.trace_state, each.is_remote) for each in (above, here)])
    assert found[0] == found[1]


def parent_of(headers, created, *, replayed=False):
    context, links = web.lineage(headers, created, replayed=replayed)
    return get_current_span(context).get_span_context(), {(each.attributes or {})[Attr.LINK] for each in links}


def test_header_of_the_same_trace_is_the_parent():
    parent, links = parent_of({"traceparent": traceparent(span=5)}, traceparent(span=1))
    assert (parent.trace_id, parent.span_id) == (TRACE, 5)
    assert links == {LinkKind.CREATION}


def test_header_of_another_trace_is_a_link():
    parent, links = parent_of({"traceparent": traceparent(OTHER)}, traceparent())
    assert parent.trace_id == TRACE
    assert links == {LinkKind.CREATION, LinkKind.AMBIENT}


@pytest.mark.parametrize(("header", "trace"), [(traceparent(OTHER), OTHER), ("", 0)])
def test_replay_is_never_part_of_the_recorded_trace(header, trace):
    parent, links = parent_of({"traceparent": header} if header else {}, traceparent(), replayed=True)
    assert parent.trace_id == trace
    assert links == {LinkKind.REPLAY}


@pytest.mark.parametrize("created", ["", "00-zz-1-01", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_malformed_context_of_an_event_is_left_out(created):
    parent, links = parent_of({"traceparent": traceparent()}, created)
    assert parent.trace_id == TRACE
    assert links == set()


@pytest.fixture
def server():
    """Answers every request with the headers that it came with; a DELETE with 404, a PUT with 503."""

    class Echo(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response({"DELETE": 404, "PUT": 503}.get(self.command, 200))
            self.end_headers()
            self.wfile.write(json.dumps({"headers": {k.lower(): v for k, v in self.headers.items()}}).encode())

        def do_DELETE(self):
            self.do_GET()

        def do_PUT(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Echo) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


@pytest.fixture
def api(server, tracer):
    made = kube.Api(Credentials(server, lambda: "Bearer secret"), tracer, connections=1, user_agent="tests")
    yield made
    made.close()


def test_api_call_carries_the_id_of_its_own_span(api, kept):
    headers = api.send(kube.read(DEPLOYMENT, "team", "web"))["headers"]
    (span,) = kept.get_finished_spans()
    assert headers["traceparent"].split("-")[1:3] == [f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"]
    assert span.name == "GET /apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    assert "secret" not in str(span.to_json())


def test_missing_object_is_no_error_of_a_call_and_a_broken_server_is(api, kept):
    with pytest.raises(NotFound):
        api.send(kube.delete(DEPLOYMENT, "team", "web", uid="1", version="1"))
    with pytest.raises(Unavailable):
        api.send(kube.put(DEPLOYMENT, {"metadata": {"namespace": "team", "name": "web"}}))
    missing, broken = kept.get_finished_spans()
    assert (missing.status.status_code, missing.attributes[Attr.HTTP_STATUS]) == (StatusCode.UNSET, 404)
    assert (broken.status.status_code, broken.attributes[Attr.HTTP_STATUS]) == (StatusCode.ERROR, 503)
    assert broken.attributes[Attr.ERROR_TYPE] == "api_unavailable"
