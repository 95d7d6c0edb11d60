"""The aggregated API over HTTP, its trust made up: who may ask what, and how it is told."""

import json
import threading
from itertools import islice

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from functions.aggregation.app import create_app
from functions.aggregation.authorization import Action
from functions.aggregation.server import Parts
from functions.aggregation.status import Forbidden, Unauthorized, Unavailable
from functions.aggregation.user import User
from functions.runtime.worker import DRAINING
from tests.aggregation.books import BOOKS, KIND
from tests.aggregation.shelf import Shelf
from tests.cluster.admin import until

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
GROUPS = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
JANE = User("jane")
OPEN = (
    "/apis",
    "/apis/",
    "/apis/library.example.com",
    "/apis/library.example.com/v1",
    "/openapi/v3",
    "/openapi/v3/apis/library.example.com/v1",
    "/version",
    "/healthz",
    "/livez",
    "/readyz",
)


class Api:
    """The app over a shelf with two books; `actions` are what access was asked for."""

    def __init__(self):
        self.shelf = Shelf()
        for name in ("dune", "emma"):
            self.shelf.add(name)
        self.actions = []
        self.refusal = None
        self.user = JANE
        self.registry = CollectorRegistry()
        self.spans = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.spans))
        parts = Parts(self._authenticate, self._authorize, provider.get_tracer("tests"), self.registry)
        self.client = create_app({KIND: self.shelf}, parts, watches=2).test_client()

    def _authenticate(self, _environ):
        if self.user is None:
            raise Unauthorized("the connection proves nothing")
        return self.user

    def _authorize(self, user, action):
        self.actions.append((user, action))
        if self.refusal:
            raise self.refusal

    def get(self, path, accept="application/json", **more):
        return self.client.get(path, headers={"accept": accept}, **more)

    def requests(self, verb, code):
        return self.registry.get_sample_value("webapp_aggregation_requests_total", {"verb": verb, "code": str(code)})

    def watches(self):
        return self.registry.get_sample_value("webapp_aggregation_watches")


@pytest.fixture
def api():
    return Api()


def status(response):
    told = response.get_json()
    assert (told["kind"], told["apiVersion"], told["status"]) == ("Status", "v1", "Failure")
    assert told["code"] == response.status_code
    return told


@pytest.mark.parametrize("path", OPEN)
def test_discovery_and_health_touch_neither_collection_nor_access(api, path):
    api.shelf.broken = True
    api.refusal = Forbidden("never")
    assert api.get(path).status_code == 200
    assert (api.shelf.asked, api.actions) == ([], [])


@pytest.mark.parametrize("path", [*OPEN, BOOKS.path("novels"), "/nothing"])
def test_nobody_is_told_anything_without_proof(api, path):
    api.user = None
    answer = api.get(path)
    assert (answer.status_code, status(answer)["reason"]) == (401, "Unauthorized")


def test_aggregated_discovery_is_served_by_accept_and_once(api):
    answer = api.get("/apis", GROUPS)
    assert (answer.content_type, answer.headers["vary"]) == (GROUPS, "accept")
    assert answer.get_json()["items"][0]["metadata"]["name"] == BOOKS.group
    again = api.client.get("/apis", headers={"accept": GROUPS, "if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.data) == (304, b"")
    plain = api.client.get("/apis", headers={"accept": "application/json", "if-none-match": answer.headers["etag"]})
    assert plain.get_json()["kind"] == "APIGroupList"


def test_openapi_v2_and_unknown_paths_are_404(api):
    for path in (
        "/openapi/v2",
        "/",
        "/api",
        "/apis/other.example.com",
        BOOKS.path("novels", "emma", "status"),
        "/apis//library.example.com",
    ):
        answer = api.get(path)
        assert (answer.status_code, status(answer)["reason"]) == (404, "NotFound")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_what_would_change_something_is_405(api, method):
    answer = api.client.open(BOOKS.path("novels", "emma"), method=method, data=b"{}")
    assert (answer.status_code, status(answer)["reason"]) == (405, "MethodNotAllowed")
    assert api.actions == []


def test_a_form_that_is_not_served_is_406(api):
    for path in ("/apis", BOOKS.path("novels")):
        assert status(api.get(path, "application/yaml"))["reason"] == "NotAcceptable"


@pytest.mark.parametrize(
    ("path", "action"),
    [
        (BOOKS.path("novels", "emma"), Action("get", BOOKS, "novels", "emma")),
        (BOOKS.path("novels"), Action("list", BOOKS, "novels")),
        (BOOKS.path(""), Action("list", BOOKS)),
        (f"{BOOKS.path('')}?fieldSelector=metadata.namespace%3Dnovels", Action("list", BOOKS)),
        (f"{BOOKS.path('novels')}?fieldSelector=metadata.name%3Demma", Action("list", BOOKS, "novels", "emma")),
        (f"{BOOKS.path('novels')}?watch=true&timeoutSeconds=1&resourceVersion=2", Action("watch", BOOKS, "novels")),
    ],
)
def test_access_is_asked_for_exactly_what_is_wanted(api, path, action):
    assert api.get(path).status_code == 200
    assert api.actions == [(JANE, action)]


@pytest.mark.parametrize("refusal", [Forbidden("no"), Unavailable("nobody could be asked")])
def test_without_access_the_collection_is_not_asked(api, refusal):
    api.refusal = refusal
    for path in (BOOKS.path("novels", "emma"), BOOKS.path(""), f"{BOOKS.path('')}?watch=1"):
        answer = api.get(path)
        assert (answer.status_code, status(answer)["message"]) == (refusal.code, str(refusal))
        assert "retry-after" not in answer.headers
    assert api.shelf.asked == []


def test_an_object_that_is_not_there_is_named_as_kubernetes_names_it(api):
    told = status(api.get(BOOKS.path("novels", "persuasion")))
    assert told["message"] == 'books.library.example.com "persuasion" not found'
    assert told["details"] == {"name": "persuasion", "group": "library.example.com", "kind": "books"}


def test_a_collection_that_is_away_is_503_without_retry_after(api):
    api.shelf.broken = True
    for path in (BOOKS.path("novels", "emma"), BOOKS.path(""), f"{BOOKS.path('')}?watch=1"):
        answer = api.get(path)
        assert (answer.status_code, status(answer)["reason"]) == (503, "ServiceUnavailable")
        assert "retry-after" not in answer.headers
    assert [span.status.is_ok for span in api.spans.get_finished_spans()] == [False] * 3


def test_a_list_goes_on_in_the_state_of_its_first_page(api):
    first = api.get(f"{BOOKS.path('novels')}?limit=1").get_json()
    api.shelf.add("odes")
    token = first["metadata"]["continue"]
    second = api.get(f"{BOOKS.path('novels')}?limit=1&continue={token}").get_json()
    assert [page["items"][0]["metadata"]["name"] for page in (first, second)] == ["dune", "emma"]
    assert "continue" not in second["metadata"]
    assert {page["metadata"]["resourceVersion"] for page in (first, second)} == {"2"}
    api.shelf.forget(3)
    answer = api.get(f"{BOOKS.path('novels')}?limit=1&continue={token}")
    assert (answer.status_code, status(answer)["reason"]) == (410, "Expired")


def test_a_list_of_a_version_that_is_still_to_come_is_504_as_client_go_knows_it(api):
    told = status(api.get(f"{BOOKS.path('')}?resourceVersion=9&resourceVersionMatch=NotOlderThan"))
    assert (told["code"], told["reason"]) == (504, "Timeout")
    assert told["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


def test_an_exact_version_is_served_while_it_is_kept(api):
    path = f"{BOOKS.path('')}?resourceVersion=1&resourceVersionMatch=Exact"
    assert [each["metadata"]["name"] for each in api.get(path).get_json()["items"]] == ["dune"]


def test_a_bad_selector_is_a_bad_request_that_names_it(api):
    told = status(api.get(f"{BOOKS.path('')}?fieldSelector=spec.colour%3Dred"))
    assert told["message"].startswith("fieldSelector: field label not supported: 'spec.colour'")


def test_a_watch_streams_lines_until_it_is_closed(api):
    answer = api.get(f"{BOOKS.path('novels')}?watch=true&resourceVersion=1", TABLE)
    assert answer.content_type == "application/json"
    header, line = islice(answer.response, 2)
    assert header == b""
    assert json.loads(line)["object"]["rows"][0]["cells"][0] == "emma"
    assert api.watches() == 1
    answer.close()
    assert api.watches() == 0


def test_watches_beyond_the_limit_are_told_to_come_again(api):
    path = f"{BOOKS.path('')}?watch=1&resourceVersion=1"
    running = [api.get(path), api.get(path)]
    answer = api.get(path)
    assert (answer.status_code, status(answer)["details"]["retryAfterSeconds"]) == (429, 5)
    assert answer.headers["retry-after"] == "5"
    running.pop().close()
    running.append(api.get(path))
    assert running[-1].status_code == 200
    for each in running:
        each.close()


def test_a_watch_that_cannot_begin_gives_its_slot_back(api):
    api.shelf.broken = True
    for _ in range(5):
        assert api.get(f"{BOOKS.path('')}?watch=1").status_code == 503
    assert api.watches() == 0


def test_watches_end_when_the_server_drains(api):
    draining = threading.Event()
    path = f"{BOOKS.path('')}?watch=1&resourceVersion=1&allowWatchBookmarks=true"
    answer = api.get(path, environ_overrides={DRAINING: draining})
    lines = iter(answer.response)
    assert [next(lines), json.loads(next(lines))["type"]] == [b"", "ADDED"]
    draining.set()
    assert [json.loads(line)["type"] for line in lines] == ["BOOKMARK"]


def test_requests_are_counted_by_verb_and_status_and_questions_without_answer(api):
    api.get(BOOKS.path("novels", "emma"))
    api.get(BOOKS.path("novels", "persuasion"))
    api.get(BOOKS.path(""))
    api.get("/apis")
    assert [api.requests(*each) for each in (("get", 200), ("get", 404), ("list", 200), ("watch", 200))] == [1, 1, 1, 0]
    assert api.requests("other", 200) == 1
    answer = api.get(f"{BOOKS.path('')}?watch=1&resourceVersion=1")
    api.shelf.broken = True
    until(lambda: api.registry.get_sample_value("webapp_aggregation_poll_errors_total") > 0)
    answer.close()


def test_a_request_is_a_trace_of_its_own_linked_to_the_callers(api):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    answer = api.client.get(BOOKS.path("novels", "emma"), headers={"traceparent": parent})
    (span,) = api.spans.get_finished_spans()
    assert (span.name, span.parent, span.kind.name) == ("get books", None, "SERVER")
    assert format(span.links[0].context.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"
    assert dict(span.attributes) == {
        "http.request.method": "GET",
        "http.route": "/apis/library.example.com/v1/namespaces/{namespace}/books/{name}",
        "webapp.api.verb": "get",
        "webapp.api.resource": "books.library.example.com",
        "http.response.status_code": 200,
    }
    assert format(span.context.trace_id, "032x") in answer.headers["traceresponse"]


def test_a_defect_is_a_status_too(api, monkeypatch):
    monkeypatch.setattr(api.shelf, "get", lambda *_: 1 / 0)
    answer = api.get(BOOKS.path("novels", "emma"))
    assert (answer.status_code, status(answer)["reason"]) == (500, "InternalError")
    assert "division" not in answer.text
