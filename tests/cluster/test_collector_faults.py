"""Whatever becomes of the collector, answers are the same, and the process ends in time."""

import signal

import pytest

from functions.dev.jaeger import Jaeger
from functions.dev.operator import Operator
from functions.dev.processes import LOOPBACK, ProcessGroup, free_port
from functions.dev.traces import Traces
from functions.runtime.names import Span
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.builders import hosted, webapp
from tests.cluster.admin import WEBAPP, until
from tests.cluster.sender import Sender, running

EVENTS = 20
ENDS_WITHIN = 5.0
SMALL_BATCHES = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "8"}
NEVER_BY_ITSELF = {"OTEL_BSP_SCHEDULE_DELAY": "600000"}


@pytest.fixture
def function_at(cluster):
    """Starts a function that exports to an endpoint."""
    kubeconfig = cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, "webapp-reconciler")
    return lambda endpoint, **more: running(kubeconfig, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, **more)


def end(process, hang_up=lambda: None):
    """SIGTERM, once the clients have gone: an open connection of theirs is given more time, which is not measured."""
    hang_up()
    process.signal(signal.SIGTERM)
    assert process.wait(ENDS_WITHIN) == 0, process.tail()


@pytest.mark.parametrize("fault", ["refusing", "killed", "hung"])
def test_answers_and_end_are_the_same_without_a_collector(cluster, admin, namespace, function_at, fault):
    with Jaeger() as jaeger:
        endpoint = f"http://{LOOPBACK}:{free_port()}" if fault == "refusing" else jaeger.otlp
        with function_at(endpoint, **SMALL_BATCHES) as function:
            sender = Sender(cluster, admin, namespace, function)
            sender.apply(webapp(hosted))
            assert sender.send().outcome == "created"
            if fault != "refusing":
                jaeger.process.signal(signal.SIGKILL if fault == "killed" else signal.SIGSTOP)
            answers = [sender.send(None) for _ in range(EVENTS)]
            assert {answer.status for answer in answers} == {204}
            assert {answer.outcome for answer in answers[1:]} <= {"unchanged", "updated"}
            end(function.process, function.close)
        jaeger.process.signal(signal.SIGCONT)


def test_spans_of_before_the_end_arrive(cluster, admin, namespace, function_at):
    with Jaeger() as jaeger, Traces(jaeger.query) as traces:
        with function_at(jaeger.otlp, **NEVER_BY_ITSELF) as function:
            sender = Sender(cluster, admin, namespace, function)
            sender.apply(webapp())
            trace_id = sender.send().headers["traceresponse"].split("-")[1]
            assert traces.get(trace_id) == []
            end(function.process, function.close)
        names = {span.name for span in traces.get(trace_id)}
        assert {Span.RECEIVE, Span.PROCESS, Span.RECONCILE, Span.DECIDE} < names


def test_bridge_ends_in_time_and_its_spans_arrive(cluster, admin, namespace):
    with Jaeger() as jaeger, Traces(jaeger.query) as traces, ProcessGroup() as processes:
        operator = Operator(cluster, processes)
        url = operator.start_function()
        settings = {**jaeger.settings, **NEVER_BY_ITSELF, "WEBAPP_NAMESPACES": namespace, "BRIDGE_LEASE": "false"}
        operator.start_bridge(url, settings)
        admin.create(WEBAPP, webapp(namespace=namespace))
        until(lambda: "readyReplicas" in admin.get(WEBAPP, namespace, "web").get("status", {}))
        end(processes["bridge"])
        found = traces.find({"webapp.namespace": namespace}, "webapp-bridge")
        assert {Span.PUBLISH, Span.DELIVER} <= {span.name for span in found}
