"""What a sender gets back: nothing, a report, a CloudEvent, a plan."""

from __future__ import annotations

from cloudevents.core.v1.event import CloudEvent

from functions.dev import kubeconfig
from functions.dev.processes import LOOPBACK, free_port
from functions.runtime import web
from functions.webapp import envelope, finished
from functions.webapp.contract import Change
from functions.webapp.resources import DEPLOYMENT, SERVICE
from tests.builders import hosted, webapp
from tests.cluster.admin import WEBAPP
from tests.cluster.sender import Answer, Sender, running


def test_a_dry_run_answers_with_the_plan_and_writes_nothing(sender):
    sender.apply(webapp(hosted, replicas=0))
    before = sender.snapshot()
    answer = sender.post(sender.event(), "/?dryRun=All")
    assert answer.status == 200
    assert [(step["verb"], step["kind"]) for step in answer.json["plan"]] == [
        *(("create", "Deployment"), ("create", "Service"), ("create", "Ingress")),
    ]
    assert sender.snapshot() == before
    assert "webapp-wrote" not in answer.headers

    sender.send()
    sender.wait_available()
    sender.settle()
    sender.edit(image="nginx:1.28", host=None)
    before = sender.snapshot()
    answer = sender.post(sender.event(), "/?dryRun=All")
    patch, delete = answer.json["plan"]
    assert patch["operations"][-1] == {
        "op": "replace",
        "path": "/spec/template/spec/containers/0/image",
        "value": "nginx:1.28",
    }
    assert (delete["verb"], delete["kind"]) == ("delete", "Ingress")
    assert sender.snapshot() == before


def test_a_dry_run_of_what_would_be_refused_says_so(sender):
    sender.apply(webapp(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}))
    answer = sender.post(sender.event(), "/?dryRun=All")
    assert (answer.status, answer.outcome, answer.json["reason"]) == (200, "blocked", "Rejected")
    assert "must be less than or equal to cpu limit" in answer.json["message"]
    assert "status" not in sender.webapp()


def test_a_dry_run_that_does_not_exist_is_refused(sender):
    sender.apply(webapp())
    answer = sender.post(sender.event(), "/?dryRun=Some")
    assert (answer.status, answer.requests) == (400, [])
    assert (answer.json["field"], "use ?dryRun=All" in answer.json["detail"]) == ("dryRun", True)


def test_a_report_is_given_to_who_prefers_a_representation(sender):
    sender.apply(webapp(replicas=0))
    event = sender.event()
    answer = sender.post(event, prefer="return=representation")
    assert answer.status == 200
    report = answer.json
    assert report["outcome"] == answer.outcome == "created"
    assert report["webapp"] == event["data"]["webapp"]
    assert (report["generation"], report["eventId"], report["attempts"]) == (1, event["id"], 1)
    assert len(report["calls"]) == len(answer.requests) == 4
    assert report["traceId"] == answer.headers["traceresponse"].split("-")[1]


def received(answer: Answer) -> CloudEvent:
    """The CloudEvent of a reply."""
    return envelope.decode(list(answer.headers.items()), answer.body)


def test_a_finished_event_is_given_to_who_prefers_a_reply(sender):
    sender.apply(webapp(replicas=0))
    event = {**sender.event(), "subject": "/apis/x"}
    answer = sender.post(event, prefer="reply")
    assert answer.status == 200
    run = finished.parse(received(answer))
    assert received(answer).get_extension("traceparent").split("-")[1:3] == [run.trace_id, run.span_id]
    assert str(run.outcome) == answer.outcome == "created"
    assert (run.webapp.name, run.webapp.uid) == ("web", event["data"]["webapp"]["uid"])
    assert (run.trigger.id, run.trigger.type, run.trigger.source) == (event["id"], event["type"], event["source"])
    assert (run.trigger.subject, run.trigger.change, run.trigger.cause) == ("/apis/x", "modified", "watch")
    assert (run.generation, run.attempts, run.fault) == (1, 1, None)
    assert [step["verb"] for step in run.plan] == ["create", "create"]
    assert len(run.calls) == len(answer.requests) == 4
    assert run.trace_id == answer.headers["traceresponse"].split("-")[1]
    assert 0 < run.duration_ms < 30_000
    sent = {name: value for name, value in answer.headers.items() if name.lower().startswith(("ce-", "content-type"))}
    again = sender.function.request("POST", "/", answer.body, **sent)
    assert again.status == 422  # a reply that comes back is refused, not reconciled


def test_each_run_for_one_event_has_an_id_of_its_own(sender):
    sender.apply(webapp(replicas=0))
    event = sender.event()
    first, second = (received(sender.post(event, prefer="reply")) for _ in range(2))
    assert first.get_id() != second.get_id()
    assert all(each.get_id().startswith(f"{event['id']}.") for each in (first, second))


def test_a_run_that_fails_tells_its_end_in_the_problem_to_who_prefers_that(cluster, admin, namespace, tmp_path):
    server = {"server": f"http://{LOOPBACK}:{free_port()}"}
    nowhere = kubeconfig.write(tmp_path / "kubeconfig", server, {}, "nobody")
    with running(nowhere, K_REVISION="reconcile-7") as function:
        sender = Sender(cluster, admin, namespace, function)
        sender.apply(webapp(replicas=0))
        event = sender.event(None)
        refused = sender.post(event, prefer="reply, finished")
        assert (refused.status, refused.headers["content-type"]) == (503, "application/problem+json")
        assert refused.headers["retry-after"]
        told = envelope.from_json(refused.json["finished"])
        run = finished.parse(told)
        assert (run.outcome, run.revision, run.plan) == ("failed", "reconcile-7", ())
        assert run.fault is not None
        assert (run.fault.type, run.fault.message) == (refused.json["title"], refused.json["detail"])
        assert [(call["method"], call["error"]) for call in run.calls] == [("GET", "api_unavailable")]
        assert (told.get_type(), run.trace_id) == (finished.event_type(WEBAPP.group), refused.json["traceId"])
        brokered = sender.post(event, prefer="reply")
        assert "finished" not in brokered.json, "who did not ask gets none"
        assert len(brokered.body) <= web.REFUSAL_BYTES
        asked = "reply, finished"
        assert "finished" not in sender.post(event, "/?dryRun=All", prefer=asked).json, "a rehearsal is no run"
        assert "finished" not in sender.post({**event, "type": "x"}, prefer=asked).json, "nothing ran"


def test_the_callers_trace_is_continued(sender):
    sender.apply(webapp(replicas=0))
    trace = "0af7651916cd43dd8448eb211c80319c"
    answer = sender.post(sender.event(), traceparent=f"00-{trace}-b7ad6b7169203331-01")
    assert answer.headers["traceresponse"].split("-")[1] == trace


def test_an_event_without_a_uid_is_about_whoever_has_the_name(sender):
    sender.apply(webapp(replicas=0))
    assert sender.send(None, uid="").outcome == "created"


def test_every_kind_of_change_of_every_kind_of_object_is_understood(sender):
    sender.deploy(webapp(replicas=0))
    for of in (DEPLOYMENT, SERVICE):
        for change in Change:
            assert sender.send(of=of, change=change).requests == []
