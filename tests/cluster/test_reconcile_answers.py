"""What a sender gets back: nothing, a report, a CloudEvent, a plan."""

from __future__ import annotations

from functions.webapp.contract import Change
from functions.webapp.resources import DEPLOYMENT, SERVICE
from tests.builders import hosted, webapp


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


def test_a_finished_event_is_given_to_who_prefers_a_reply(sender):
    sender.apply(webapp(replicas=0))
    event = sender.event()
    answer = sender.post(event, prefer="reply")
    assert answer.status == 200
    assert answer.headers["ce-type"] == "com.example.platform.reconcile.finished.v1"
    assert answer.headers["ce-causationid"] == event["id"]
    assert answer.headers["ce-source"] == event["source"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["outcome"] == "created"
    sent = {name: value for name, value in answer.headers.items() if name.lower().startswith(("ce-", "content-type"))}
    again = sender.function.request("POST", "/", answer.body, **sent)
    assert again.status == 422  # a reply that comes back is refused, not reconciled


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
