"""What is asked of kube-apiserver before an aggregated API answers, and what is remembered of it."""

import pytest

from functions.aggregation.authorization import REVIEW_SECONDS, Action, Authorizer
from functions.aggregation.status import Forbidden, Unavailable
from functions.aggregation.user import User
from functions.webapp import errors
from functions.webapp.resources import Resource

BOOKS = Resource("library.example.com", "v1", "Book", "books")
JANE = User("jane", ("readers", "system:authenticated"), "7", {"example.com/team": ("a", "b")})
LIST = Action("list", BOOKS, "novels")
ALLOWED = {"allowed": True}


class ApiServer:
    """Answers every review alike, or fails."""

    def __init__(self, status=None, error=None):
        self.status, self.error, self.asked = status, error, []

    def send(self, call, *, timeout=10.0, attempt=1):
        assert (timeout, attempt) == (REVIEW_SECONDS, 1)
        self.asked.append(call.body["spec"])
        if self.error:
            raise self.error
        return {"status": self.status}


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def authorizer(status=ALLOWED, error=None, **options):
    api, clock = ApiServer(status, error), Clock()
    return Authorizer(api, clock, **options), api, clock


def test_review_tells_all_that_is_known_of_user_and_action():
    found, api, _ = authorizer()
    found.authorize(JANE, Action("get", BOOKS, "novels", "dune"))
    assert api.asked == [
        {
            "user": "jane",
            "uid": "7",
            "groups": ["readers", "system:authenticated"],
            "extra": {"example.com/team": ["a", "b"]},
            "resourceAttributes": {
                "group": "library.example.com",
                "version": "v1",
                "resource": "books",
                "namespace": "novels",
                "name": "dune",
                "verb": "get",
            },
        }
    ]


def test_verdict_is_kept_for_ten_seconds_and_no_longer():
    found, api, clock = authorizer()
    for moment, asked in ((0.0, 1), (9.9, 1), (10.0, 2), (19.9, 2), (20.0, 3)):
        clock.now = moment
        found.authorize(JANE, LIST)
        assert len(api.asked) == asked


def test_refusal_is_kept_like_a_permission():
    found, api, clock = authorizer({"allowed": False})
    for moment, asked in ((0.0, 1), (9.9, 1), (10.0, 2)):
        clock.now = moment
        with pytest.raises(Forbidden):
            found.authorize(JANE, LIST)
        assert len(api.asked) == asked


@pytest.mark.parametrize(
    ("user", "action"),
    [
        (User("john", JANE.groups, JANE.uid, JANE.extra), LIST),
        (User("jane", ("readers,system:authenticated",), JANE.uid, JANE.extra), LIST),
        (User("jane", JANE.groups, "8", JANE.extra), LIST),
        (User("jane", JANE.groups, JANE.uid, {"example.com/team": ("a,b",)}), LIST),
        (JANE, Action("watch", BOOKS, "novels")),
        (JANE, Action("list", BOOKS, "poems")),
        (JANE, Action("list", BOOKS)),
        (JANE, Action("list", BOOKS, "novels", "dune")),
        (JANE, Action("get", path="/metrics")),
    ],
)
def test_verdict_is_for_this_user_and_this_action_alone(user, action):
    found, api, _ = authorizer()
    found.authorize(JANE, LIST)
    found.authorize(user, action)
    assert len(api.asked) == 2


def test_what_is_remembered_is_bounded_and_the_oldest_goes_first():
    found, api, _ = authorizer(limit=3)
    for number in (1, 2, 3, 4, 4, 3, 2, 1):
        found.authorize(User(f"user-{number}"), LIST)
    assert [spec["user"] for spec in api.asked] == ["user-1", "user-2", "user-3", "user-4", "user-1"]


def test_masters_are_not_asked_about():
    found, api, _ = authorizer({"allowed": False})
    found.authorize(User("root", ("system:masters",)), LIST)
    assert api.asked == []
    with pytest.raises(Forbidden):
        found.authorize(User("root", ("a,system:masters", "System:masters", "system:masters ")), LIST)


@pytest.mark.parametrize(
    "path",
    [
        "/apis",
        "/apis/library.example.com/v1",
        "/openapi/v3",
        "/openapi/v2",
        "/version",
        "/healthz",
        "/livez",
        "/readyz",
    ],
)
def test_discovery_and_health_are_open_to_everybody(path):
    found, api, _ = authorizer({"allowed": False})
    found.authorize(User("system:aggregator"), Action("get", path=path))
    assert api.asked == []


@pytest.mark.parametrize("path", ["/apisecret", "/metrics", "/", ""])
def test_other_paths_are_not(path):
    found, _, _ = authorizer({"allowed": False})
    with pytest.raises(Forbidden, match=f'User "jane" cannot get path "{path}"'):
        found.authorize(JANE, Action("get", path=path))


@pytest.mark.parametrize("status", [{"allowed": True, "denied": True}, {}, {"allowed": "true"}, {"allowed": None}])
def test_nothing_but_a_plain_yes_allows(status):
    found, _, _ = authorizer(status)
    with pytest.raises(Forbidden):
        found.authorize(JANE, LIST)


@pytest.mark.parametrize("error", [errors.Unavailable("away"), errors.Forbidden("no delegator"), errors.NotFound("?")])
def test_review_that_cannot_be_made_fails_closed_and_is_tried_again(error):
    found, api, _ = authorizer(error=error)
    for _ in range(2):
        with pytest.raises(Unavailable) as told:
            found.authorize(JANE, LIST)
    assert (told.value.code, len(api.asked)) == (503, 2)
    assert "retryAfterSeconds" not in told.value.document()["details"]


@pytest.mark.parametrize(
    ("action", "about", "scope"),
    [
        (LIST, "books.library.example.com", 'in the namespace "novels"'),
        (Action("watch", BOOKS), "books.library.example.com", "at the cluster scope"),
        (Action("get", BOOKS, "poems", "odes"), 'books.library.example.com "odes"', 'in the namespace "poems"'),
    ],
)
def test_refusals_read_as_kube_apiservers_own(action, about, scope):
    found, _, _ = authorizer({"allowed": False, "reason": "why"})
    with pytest.raises(Forbidden) as error:
        found.authorize(JANE, action)
    document = error.value.document()
    what = f'cannot {action.verb} resource "books" in API group "library.example.com" {scope}'
    assert document["message"] == f'{about} is forbidden: User "jane" {what}: why'
    assert (document["code"], document["reason"]) == (403, "Forbidden")
    assert document["details"]["kind"] == "books"
