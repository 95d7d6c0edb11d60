"""The Keystone profile against a server that follows the Identity API v3 reference."""

from __future__ import annotations

import json
import threading
import time

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider

from functions.authn.claims import ClaimMap, user
from functions.authn.credential import SecretFile
from functions.authn.exchange import Exchange
from functions.authn.keystone import Keystone
from functions.authn.verdict import Active, Failure, Fault, Identity, Inactive
from functions.runtime.settings import SettingsError
from tests.authn.crowd import at_once
from tests.authn.front import Scripted

LATER = "2100-01-01T00:00:00.000000Z"


class Identities(Scripted):
    """Password-less Keystone: application credentials log in, tokens are validated."""

    def __init__(self):
        super().__init__()
        self.secret = "first"
        self.users = {"user-token": "jane"}
        self.logins: list[str] = []
        self.lives = LATER
        self._lock = threading.Lock()
        self._services: set[str] = set()

    def revoke(self):
        self._services.clear()

    def respond(self, handler, body):
        if handler.command == "POST":
            self._login(handler, json.loads(body)["auth"]["identity"])
        elif handler.headers["x-auth-token"] not in self._services:
            handler.answer(401, {"error": {"code": 401}})
        elif name := self.users.get(handler.headers["x-subject-token"]):
            handler.answer(200, {"token": self._token(name)})
        else:
            handler.answer(404, {"error": {"code": 404}})

    def _login(self, handler, identity):
        assert identity["methods"] == ["application_credential"]
        shown = identity["application_credential"]
        if shown != {"id": "credential", "secret": self.secret}:
            handler.answer(401, {"error": {"code": 401}})
            return
        with self._lock:
            service = f"service-{len(self.logins)}"
            self.logins.append(service)
            self._services.add(service)
        handler.answer(201, {"token": {"expires_at": self.lives}}, {"x-subject-token": service})

    def _token(self, name):
        return {
            "user": {"id": f"id-of-{name}", "name": name, "domain": {"id": "default", "name": "Default"}},
            "project": {"id": "p1", "name": "web"},
            "roles": [{"id": "r1", "name": "member"}, {"id": "r2", "name": "system:masters"}],
            "expires_at": LATER,
        }


@pytest.fixture
def identities():
    with Identities() as made:
        yield made


@pytest.fixture
def keystone(identities, tmp_path):
    (tmp_path / "secret").write_text("first\n")
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    exchange = Exchange(identities.url, None, tracer, seconds=2.0, connections=8)
    return Keystone(exchange, "credential", SecretFile(tmp_path / "secret"))


def check(keystone, token, wall=None):
    return keystone.check(token, time.time() if wall is None else wall, Context())


def test_good_token_becomes_a_user_with_roles_as_groups(keystone):
    mapping = ClaimMap("name", "keystone:", "groups", "keystone:", "sub", {"example.com/project": "project"})
    verdict = user(check(keystone, "user-token"), mapping).verdict
    assert isinstance(verdict, Active)
    groups, extra = ("keystone:member",), (("example.com/project", ("p1",)),)
    assert verdict.identity == Identity("keystone:jane", "id-of-jane", groups, extra)
    assert verdict.expires_at == 4102444800.0


def test_unknown_token_is_the_users_fault(keystone):
    assert check(keystone, "nobody") == Inactive()


def test_one_login_serves_many_questions(keystone, identities):
    assert at_once(lambda _: check(keystone, "nobody"), range(20), width=8) == [Inactive()] * 20
    assert len(identities.logins) == 1


def test_service_token_is_renewed_before_it_ends(keystone, identities):
    identities.lives = "2026-01-01T00:01:40Z"
    begun = 1767225600.0  # the hundred seconds before that
    check(keystone, "nobody", begun)
    check(keystone, "nobody", begun + 79)
    assert len(identities.logins) == 1
    check(keystone, "nobody", begun + 81)
    assert len(identities.logins) == 2


def test_refused_service_token_is_our_fault_and_is_replaced_by_the_next_question_only(keystone, identities):
    check(keystone, "user-token")
    identities.revoke()
    assert check(keystone, "user-token") == Failure(Fault.CREDENTIAL)
    assert len(identities.logins) == 1
    assert isinstance(check(keystone, "user-token"), dict)
    assert len(identities.logins) == 2


def test_refused_login_is_our_fault_and_is_not_repeated(keystone, identities, tmp_path):
    identities.secret = "second"
    assert check(keystone, "user-token") == Failure(Fault.CREDENTIAL)
    assert len(identities.calls) == 1
    (tmp_path / "secret").write_text("second")
    assert isinstance(check(keystone, "user-token"), dict)


@pytest.mark.parametrize(
    "token", [None, [], {}, {"user": "jane"}, {"user": {"id": "x"}}, {"user": {}, "expires_at": "soon"}]
)
def test_answer_without_its_parts_is_malformed(keystone, identities, monkeypatch, token):
    monkeypatch.setattr(identities, "_token", lambda _: token)
    assert check(keystone, "user-token") == Failure(Fault.MALFORMED)


def test_token_past_its_end_is_refused_whatever_keystone_says(keystone):
    check(keystone, "user-token")
    assert check(keystone, "user-token", 4102444801.0) in {Inactive("expired"), Failure(Fault.CREDENTIAL)}


def test_missing_secret_is_told_at_the_start(tmp_path):
    with pytest.raises(SettingsError, match="put the secret there"):
        SecretFile(tmp_path / "nothing")
