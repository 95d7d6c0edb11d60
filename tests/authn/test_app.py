"""The view without TLS: who is turned away, and what a decision leaves in metrics and spans."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from functions.authn.app import Webhook, create_app
from functions.authn.audience import Audiences
from functions.authn.authenticator import Authenticator, Policy
from functions.authn.callers import Callers
from functions.authn.claims import ClaimMap
from functions.authn.credential import SecretFile
from functions.authn.gate import Limits
from functions.authn.measures import Measures
from functions.authn.verdict import Failure, Fault, Inactive

TOKEN = "tok3n"
GOOD = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": TOKEN, "audiences": ["a"]}}


class Rig:
    """The app in front of a provider that says what it is told to."""

    def __init__(self, folder):
        (folder / "caller").write_text("caller-token")
        self.says: Any = {"sub": "jane", "aud": ["a"]}
        self.asked = 0
        self.spans = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.spans))
        self.registry = CollectorRegistry()
        measures = Measures(self.registry)
        self.authenticator = Authenticator(Policy(Limits(), ClaimMap()), self, measures)
        self.authenticator.warm_up()
        callers = Callers(token=SecretFile(folder / "caller"))
        webhook = Webhook(self.authenticator, callers, Audiences(), measures, provider.get_tracer("test"))
        self.client = create_app(webhook).test_client()

    def check(self, token, *_):
        self.asked += 1
        if token != TOKEN:
            return Inactive()
        if isinstance(self.says, Exception):
            raise self.says
        return self.says

    def post(self, document=GOOD, authorization="Bearer caller-token", **options):
        body = document if isinstance(document, bytes) else json.dumps(document)
        return self.client.post(
            "/authenticate?timeout=30s", data=body, headers={"authorization": authorization}, **options
        )

    def sample(self, name, **labels):
        return self.registry.get_sample_value(name, labels)

    def span(self):
        return dict(self.spans.get_finished_spans()[-1].attributes or {})


@pytest.fixture
def rig(tmp_path):
    made = Rig(tmp_path)
    yield made
    made.authenticator.close()


def test_decision_is_counted_and_its_user_only_hashed(rig):
    answer = rig.post()
    assert answer.json["status"]["user"] == {"username": "idp:jane", "uid": "jane"}
    assert rig.sample("webapp_authn_decisions_total", outcome="authenticated", source="provider") == 1
    assert rig.span()["user.hash"] == hashlib.sha256(b"idp:jane").hexdigest()[:16]
    assert rig.span()["webapp.authn.decision"] == "authenticated"
    assert "jane" not in str(rig.span())
    assert answer.headers["traceresponse"]


def test_token_for_another_audience_is_refused_and_the_span_says_why(rig):
    rig.says = {"sub": "jane", "aud": ["b"]}
    assert rig.post().json["status"] == {"authenticated": False}
    assert rig.span()["webapp.authn.refusal"] == "audience"


def test_unknown_caller_is_answered_401_and_nobody_is_asked(rig):
    asked = rig.asked
    assert rig.post(authorization="Bearer wrong").status_code == 401
    assert rig.asked == asked
    assert rig.sample("webapp_authn_rejected_total", why="caller") == 1


def test_malformed_body_is_400_and_never_a_verdict(rig):
    answer = rig.post(b"{}")
    assert (answer.status_code, answer.json["field"]) == (400, "apiVersion")
    assert "status" not in answer.json or answer.json["status"] == 400
    assert rig.sample("webapp_authn_rejected_total", why="body") == 1


@pytest.mark.parametrize("size", [70_000, 3_000_000])
def test_too_large_a_body_is_413(rig, size):
    assert rig.post(b" " * size).status_code == 413


@pytest.mark.parametrize("says", [Failure(Fault.STATUS), RuntimeError("bug")])
def test_no_failure_of_whatever_kind_is_a_5xx_or_a_verdict(rig, says):
    rig.says = says
    answer = rig.post()
    assert answer.status_code == 200
    assert "retry-after" not in answer.headers
    assert answer.json["status"]["authenticated"] is False
    assert answer.json["status"]["error"]
    assert rig.sample("webapp_authn_decisions_total", outcome="unavailable", source="provider") == 1


def test_warm_up_closes_the_breaker_before_the_first_user(rig):
    assert rig.asked == 2
    assert rig.sample("webapp_authn_breaker_state") == 0
    assert rig.sample("webapp_authn_breaker_turns_total", to="closed") == 1


def test_open_breaker_shows_in_metrics_and_spans(rig):
    rig.says = Failure(Fault.CREDENTIAL)
    rig.post()
    rig.post()
    assert rig.sample("webapp_authn_breaker_state") == 2
    assert rig.sample("webapp_authn_throttled_total", by="circuit_open") == 1
    assert rig.span()["webapp.authn.breaker"] == "open"
    assert rig.span()["error.type"] == "circuit_open"
