"""The webhooks over HTTP: statuses, spans, counters. The verdicts themselves are tested where they are made."""

import json
import logging

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from prometheus_client import CollectorRegistry

from functions.admission.app import create_app
from functions.admission.figures import Figures
from functions.admission.guard import Guard
from functions.admission.settings import BODY_LIMIT, Settings
from functions.runtime.settings import SettingsError
from tests.admission.pods import BY_NAME, INJECTOR, review_of

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Served:
    def __init__(self):
        self.spans, self.registry = InMemorySpanExporter(), CollectorRegistry()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.spans))
        settings = Settings(INJECTOR, Guard("platform.example.com"))
        self.client = create_app(settings, provider.get_tracer("test"), Figures(self.registry)).test_client()

    def post(self, path, body, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(path, data=data, headers=headers)

    def counted(self, *labels):
        names = ("webhook", "operation", "decision", "reason")
        return self.registry.get_sample_value("webapp_admission_decisions_total", dict(zip(names, labels, strict=True)))


@pytest.fixture
def served():
    return Served()


@pytest.mark.parametrize(
    ("path", "answered"),
    [("/mutate?timeout=5s", {"patched"}), ("/validate?timeout=5s", {"denied"})],
)
def test_verdict_is_a_200_and_counted(served, path, answered):
    webhook = path[1:].partition("?")[0]
    reason = {"mutate": "injected", "validate": "violation"}[webhook]
    (decision,) = answered
    assert served.counted(webhook, "CREATE", decision, reason) == 0
    answer = served.post(path, BY_NAME["deployment"].body)
    assert answer.status_code == 200
    assert answer.get_json()["response"]["uid"] == json.loads(BY_NAME["deployment"].body)["request"]["uid"]
    assert served.counted(webhook, "CREATE", decision, reason) == 1


def test_span_tells_the_decision_and_links_to_the_api_server(served):
    served.post("/validate", BY_NAME["deployment"].body, traceparent=TRACEPARENT)
    (span,) = served.spans.get_finished_spans()
    assert span.name == "POST /validate"
    assert dict(span.attributes) == {
        "http.request.method": "POST",
        "http.route": "/validate",
        "http.response.status_code": 200,
        "webapp.admission.webhook": "validate",
        "webapp.admission.operation": "CREATE",
        "webapp.admission.decision": "denied",
        "webapp.admission.reason": "violation",
        "webapp.dry_run": False,
        "webapp.namespace": "deployment",
        "webapp.object.kind": "Pod",
        "webapp.object.name": BY_NAME["deployment"].pod["metadata"]["generateName"],
    }
    assert span.parent is None
    assert [f"{link.context.trace_id:032x}" for link in span.links] == [TRACEPARENT.split("-")[1]]
    assert span.status.status_code is StatusCode.UNSET


def test_dry_run_is_told_apart(served):
    served.post("/mutate", review_of(BY_NAME["minimal"].pod, dryRun=True))
    (span,) = served.spans.get_finished_spans()
    assert span.attributes["webapp.dry_run"] is True


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_what_is_no_review_is_a_400_with_the_reason(served, path, caplog):
    caplog.set_level(logging.WARNING)
    answer = served.post(path, {**review_of({}), "apiVersion": "admission.k8s.io/v1beta1"})
    assert (answer.status_code, answer.get_json()["field"]) == (400, "apiVersion")
    assert "retry-after" not in answer.headers
    assert "malformed_review" in str(caplog.records[0].__dict__["fields"])


def test_body_beyond_the_limit_is_a_413(served):
    assert served.post("/mutate", b" " * (BODY_LIMIT + 1)).status_code == 413
    assert served.post("/mutate", b" " * BODY_LIMIT).status_code == 400


def test_injector_never_patches_updates_or_subresources(served):
    for body in (BY_NAME["kubectl-label"].body, BY_NAME["kubectl-debug-ephemeral"].body):
        response = served.post("/mutate", body).get_json()["response"]
        assert response["allowed"]
        assert "patch" not in response


@pytest.mark.parametrize(
    "pod", [{}, {"spec": []}, {"spec": {"containers": "x"}}, {"spec": {"containers": [], "initContainers": ["x"]}}]
)
def test_pod_that_cannot_be_read_is_no_compliant_pod(served, pod):
    answer = served.post("/validate", review_of(pod))
    assert (answer.status_code, answer.get_json()["title"]) == (400, "malformed_review")


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"SIDECAR_TEMPLATE": "/nowhere.yaml"}, "SIDECAR_TEMPLATE='/nowhere.yaml': No such file"),
        ({"SIDECAR_MODE": "both"}, "SIDECAR_MODE='both': must be native or classic"),
        ({"GUARD_STRICT": "yes"}, "GUARD_STRICT='yes': must be true or false"),
    ],
)
def test_wrong_setting_is_named_with_its_cure(tmp_path, environ, said):
    template = tmp_path / "sidecar.yaml"
    template.write_text("image: busybox\ncommand: [tail]\n")
    with pytest.raises(SettingsError, match=said):
        Settings.load({"SIDECAR_TEMPLATE": str(template), **environ})


@pytest.mark.parametrize(("text", "said"), [("a: [", "is not YAML"), ("image: x\n", "command: Field required")])
def test_wrong_template_is_refused_at_start(tmp_path, text, said):
    template = tmp_path / "sidecar.yaml"
    template.write_text(text)
    with pytest.raises(SettingsError, match=said):
        Settings.load({"SIDECAR_TEMPLATE": str(template)})
