"""One delivery on the wire: headers, spans, TLS, tokens; the sink is a real one on loopback."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from event_bridge import settings
from event_bridge.answer import Verdict
from event_bridge.backlog import Delivery, News
from event_bridge.publish import Publisher
from event_bridge.sink import NotAllowedError, Sink
from event_bridge.trust import Trust
from functions.dev.certificates import CertificateAuthority
from functions.runtime.names import Attr, LinkKind
from functions.runtime.settings import SettingsError
from tests.bridge_parts import change
from tests.cluster.bridge.scripted_sink import Reply, ScriptedSink, scripted_sink

STAMP = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def sink() -> Iterator[ScriptedSink]:
    with scripted_sink() as found:
        yield found


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


class Publishing:
    """A publisher towards a sink, with the environment that a test wants."""

    def __init__(self, spans: InMemorySpanExporter, sink: ScriptedSink, folder: Path, **environ: str) -> None:
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(spans))
        wanted = settings.load(
            {"K_SINK": sink.url, "BRIDGE_PARKING_FILE": str(folder / "parked.jsonl"), "BRIDGE_RESPONSE_SECONDS": "2"}
            | environ
        )
        self.allowed = True
        assert wanted.sink is not None
        self.sink = Sink(wanted.sink, allowed=lambda: self.allowed)
        self.publisher = Publisher(
            wanted, self.sink, provider.get_tracer("t"), cluster="c", snapshot=lambda _: (b'{"kind":"WebApp"}', [])
        )
        self.send = self.publisher.send


def delivery(news: News | None = None, tries: int = 0) -> Delivery:
    news = news or change(version=7)
    return Delivery(str(news.notice.webapp), news, 3, news.seen, tries, urgent=True, probe=False, epoch=0)


def told(spans: InMemorySpanExporter) -> list[ReadableSpan]:
    return sorted(spans.get_finished_spans(), key=lambda span: span.start_time or 0)


def ids(span: ReadableSpan) -> tuple[str, str]:
    context = span.get_span_context()
    assert context is not None
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def test_one_root_producer_span_and_one_client_span_per_attempt_make_one_trace(
    sink: ScriptedSink, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    replies = iter([Reply(503), Reply(204, {"webapp-outcome": "updated"})])
    sink.answer = lambda _: next(replies)
    publishing = Publishing(spans, sink, tmp_path)
    assert publishing.send(delivery()).verdict is Verdict.AGAIN
    assert publishing.send(delivery(tries=1)).verdict is Verdict.ACKNOWLEDGED
    publish, first, second = told(spans)
    assert (publish.name, publish.kind, publish.parent) == ("publish webapp-events", SpanKind.PRODUCER, None)
    assert [(span.name, span.kind) for span in (first, second)] == [("POST", SpanKind.CLIENT)] * 2
    assert [span.attributes and span.attributes.get(Attr.HTTP_RESEND) for span in (first, second)] == [None, 1]
    assert [span.status.status_code for span in (first, second)] == [StatusCode.ERROR, StatusCode.UNSET]
    assert publish.status.status_code is StatusCode.UNSET, "a handled failure is no failure"
    assert publish.attributes is not None
    assert publish.attributes[Attr.OUTCOME] == "updated"
    assert publish.attributes[Attr.COALESCED] == 3
    for span, received in zip((first, second), sink.received, strict=True):
        assert received.headers["traceparent"].split("-")[1:3] == list(ids(span))
        assert received.headers["ce-traceparent"].split("-")[1:3] == list(ids(publish))


def test_a_newer_change_gets_a_trace_of_its_own(
    sink: ScriptedSink, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    sink.answer = lambda _: Reply(503)
    publishing = Publishing(spans, sink, tmp_path)
    publishing.send(delivery(change(version=7)))
    publishing.send(delivery(change(version=8), tries=1))
    publishing.publisher.close()
    producers = [span for span in told(spans) if span.kind is SpanKind.PRODUCER]
    assert [span.attributes and span.attributes[Attr.OBJECT_VERSION] for span in producers] == ["7", "8"]
    assert producers[0].status.status_code is StatusCode.UNSET
    assert producers[1].attributes
    assert producers[1].attributes[Attr.ERROR_TYPE] == "unanswered"


@pytest.mark.parametrize(("child", "kind"), [(True, LinkKind.STAMP), (False, LinkKind.WEBAPP)])
def test_the_trace_that_an_object_carries_becomes_a_link(
    sink: ScriptedSink, spans: InMemorySpanExporter, tmp_path: Path, child: bool, kind: str
) -> None:
    news = change(child=child)
    Publishing(spans, sink, tmp_path).send(delivery(News(news.notice, news.seen, STAMP)))
    publish = told(spans)[0]
    assert publish.parent is None
    assert [(f"{link.context.trace_id:032x}", dict(link.attributes or {})) for link in publish.links] == [
        (STAMP.split("-")[1], {Attr.LINK: kind})
    ]


@pytest.mark.parametrize("stamp", ["", "garbage", "00", STAMP.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32)])
def test_what_is_no_trace_becomes_no_link(
    sink: ScriptedSink, spans: InMemorySpanExporter, tmp_path: Path, stamp: str
) -> None:
    news = change()
    Publishing(spans, sink, tmp_path).send(delivery(News(news.notice, news.seen, stamp)))
    assert list(told(spans)[0].links) == []


def test_poison_fails_the_trace_with_its_status(
    sink: ScriptedSink, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    sink.answer = lambda _: Reply(422)
    Publishing(spans, sink, tmp_path).send(delivery())
    publish = told(spans)[0]
    assert publish.attributes
    assert (publish.status.status_code, publish.attributes[Attr.ERROR_TYPE]) == (StatusCode.ERROR, "422")


def test_who_may_not_send_connects_at_most_and_writes_nothing(
    sink: ScriptedSink, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    publishing = Publishing(spans, sink, tmp_path)
    publishing.send(delivery())
    publishing.allowed = False
    with pytest.raises(NotAllowedError):
        publishing.send(delivery(change(version=8)))
    publishing.allowed = True
    publishing.send(delivery(change(version=9)))
    assert [each.id for each in sink.received] == ["a-1.7.modified", "a-1.9.modified"]


def test_the_sinks_token_goes_along(sink: ScriptedSink, spans: InMemorySpanExporter, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    Publishing(spans, sink, tmp_path, BRIDGE_OIDC_TOKEN=str(token)).send(delivery())
    assert sink.received[0].headers["authorization"] == "Bearer secret"


def test_a_private_authority_is_trusted_when_it_is_named_and_not_otherwise(
    spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    authority = CertificateAuthority(tmp_path, "ca")
    pair = authority.issue("sink", hosts=["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with scripted_sink(context) as sink:
        stranger = Publishing(spans, sink, tmp_path).send(delivery())
        trusted = Publishing(spans, sink, tmp_path, K_CA_CERTS=authority.certificate.read_text()).send(delivery())
    assert (stranger.label, trusted.label) == ("tls", "2xx")


def test_connections_are_kept_and_the_answers_body_is_left_alone(
    sink: ScriptedSink, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    publishing = Publishing(spans, sink, tmp_path)
    for version in range(5):
        publishing.send(delivery(change(version=version)))
    assert sink.connections == 1
    publishing.sink.rest()
    publishing.send(delivery(change(version=9)))
    assert sink.connections == 2


def test_a_reply_is_asked_for_only_where_there_is_a_history(
    sink: ScriptedSink, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    sink.answer = lambda _: Reply(200, {"ce-type": "x", "content-type": "application/json"}, b"{}")
    Publishing(spans, sink, tmp_path).send(delivery())
    found = Publishing(spans, sink, tmp_path, BRIDGE_HISTORY_SINK=sink.url).send(delivery())
    first, second = (set(each.headers) for each in sink.received)
    assert second - first == {"prefer"}
    assert first <= second
    assert (found.verdict, found.reply and found.reply.body) == (Verdict.ACKNOWLEDGED, b"{}")


def test_a_reply_that_is_too_long_is_no_reply(sink: ScriptedSink, spans: InMemorySpanExporter, tmp_path: Path) -> None:
    sink.answer = lambda _: Reply(200, {"ce-type": "x"}, b"x" * 70_000)
    found = Publishing(spans, sink, tmp_path).send(delivery())
    assert (found.verdict, found.reply) == (Verdict.ACKNOWLEDGED, None)


def test_trust_follows_the_mounted_bundles_from_the_next_connection_on(
    spans: InMemorySpanExporter, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bundles = tmp_path / "bundles"
    bundles.mkdir()
    first, second = (CertificateAuthority(tmp_path, name) for name in ("first", "second"))
    pair = second.issue("sink", hosts=["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    mounted = bundles / "ca.pem"
    mounted.write_bytes(first.certificate.read_bytes())
    with scripted_sink(context) as sink:
        publishing = Publishing(spans, sink, tmp_path, BRIDGE_TRUST_BUNDLES=str(bundles))
        assert publishing.send(delivery()).label == "tls"
        mounted.write_bytes(first.certificate.read_bytes() + second.certificate.read_bytes())
        assert publishing.send(delivery()).label == "2xx"
        mounted.write_text("-----BEGIN CERTIFICATE-----\nbroken")
        publishing.sink.rest()
        assert publishing.send(delivery()).label == "2xx", "the last good ones stay"
        assert [record.message for record in caplog.records] == [
            "the new trust bundles cannot be used, the last good ones stay"
        ]
        mounted.unlink()
        publishing.sink.rest()
        assert publishing.send(delivery()).label == "tls"


def test_what_is_no_certificate_is_named_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"K_CA_CERTS: .*certificates in PEM"):
        Trust("no certificate", tmp_path)
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(SettingsError, match=r"ca\.pem: .*certificates in PEM"):
        Trust("", tmp_path)
