"""RFC 7662 over the wire: which answer means what."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qs

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider

from functions.authn.credential import Nothing
from functions.authn.exchange import ANSWER_LIMIT, Exchange
from functions.authn.introspection import Introspection
from functions.authn.verdict import Failure, Fault, Inactive
from functions.dev.certificates import CertificateAuthority
from tests.authn.front import Scripted

TOKEN = "s3cret"


class Endpoint(Scripted):
    """Answers with whatever the test says."""

    def __init__(self, pair):
        super().__init__(pair)
        self.status = 200
        self.document: Any = {"active": True, "sub": "jane"}
        self.headers: Any = ()
        self.action: Any = None

    def respond(self, handler, body):
        self.form = parse_qs(body.decode())
        if self.action:
            self.action(handler)
        else:
            handler.answer(self.status, self.document, self.headers)


@pytest.fixture
def authority(tmp_path):
    return CertificateAuthority(tmp_path, "ca")


@pytest.fixture
def endpoint(authority):
    with Endpoint(authority.issue("idp", hosts=["127.0.0.1"])) as made:
        yield made


def check(endpoint, ca, seconds=0.5):
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    exchange = Exchange(f"{endpoint.url}/introspect", ca.certificate, tracer, seconds=seconds, connections=2)
    return Introspection(exchange, Nothing()).check(TOKEN, 1000.0, Context())


def test_active_token_gives_its_claims(endpoint, authority):
    assert check(endpoint, authority) == {"active": True, "sub": "jane"}
    assert endpoint.form == {"token": [TOKEN], "token_type_hint": ["access_token"]}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"active": False}, "inactive"),
        ({"active": True, "exp": 1000}, "expired"),
        ({"active": True, "token_use": "refresh_token"}, "not_an_access_token"),
        ({"active": True, "typ": "Offline"}, "not_an_access_token"),
        ({"active": True, "typ": "ID"}, "not_an_access_token"),
        ({"active": True, "cnf": {"x5t#S256": "x"}}, "bound_to_a_key"),
    ],
)
def test_token_that_lets_nobody_in_is_inactive(endpoint, authority, document, why):
    endpoint.document = document
    assert check(endpoint, authority) == Inactive(why)


@pytest.mark.parametrize(
    ("status", "headers", "failure"),
    [
        (401, {}, Failure(Fault.CREDENTIAL)),
        (403, {}, Failure(Fault.CREDENTIAL)),
        (400, {}, Failure(Fault.UNEXPECTED)),
        (404, {}, Failure(Fault.UNEXPECTED)),
        (302, {"location": "https://127.0.0.1:1/"}, Failure(Fault.UNEXPECTED)),
        (204, {}, Failure(Fault.UNEXPECTED)),
        (500, {}, Failure(Fault.STATUS)),
        (503, {"retry-after": "7"}, Failure(Fault.STATUS, 7.0)),
        (429, {"retry-after": "9"}, Failure(Fault.THROTTLED, 9.0)),
        (429, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, Failure(Fault.THROTTLED)),
    ],
)
def test_status_tells_our_fault_from_the_providers(endpoint, authority, status, headers, failure):
    endpoint.status, endpoint.headers, endpoint.document = status, headers, None
    assert check(endpoint, authority) == failure
    assert len(endpoint.calls) == 1


@pytest.mark.parametrize("document", [None, [], "x", {}, {"active": "true"}, {"active": 1}])
def test_answer_that_does_not_say_active_is_malformed(endpoint, authority, document):
    endpoint.document = document
    assert check(endpoint, authority) == Failure(Fault.MALFORMED)


def test_endless_answer_is_cut_off(endpoint, authority):
    endpoint.document = {"active": True, "padding": "x" * ANSWER_LIMIT}
    assert check(endpoint, authority) == Failure(Fault.MALFORMED)


def test_trickling_answer_is_cut_off_by_the_budget(endpoint, authority):
    def trickle(handler):
        handler.send_response(200)
        handler.send_header("content-length", "100")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b" ")
            time.sleep(0.1)

    endpoint.action = trickle
    assert check(endpoint, authority) == Failure(Fault.TIMEOUT)
    assert len(endpoint.calls) == 1


@pytest.mark.parametrize(
    ("action", "fault"),
    [(lambda handler: handler.reset(), Fault.UNREACHABLE), (lambda _: time.sleep(2), Fault.TIMEOUT)],
)
def test_broken_connection_is_no_timeout(endpoint, authority, action, fault):
    endpoint.action = action
    assert check(endpoint, authority) == Failure(fault)
    assert len(endpoint.calls) == 1


def test_nobody_listening_is_unreachable(endpoint, authority):
    with endpoint:
        pass
    assert check(endpoint, authority) == Failure(Fault.UNREACHABLE)


def test_certificate_of_a_stranger_is_not_accepted(endpoint, tmp_path):
    (tmp_path / "other").mkdir()
    assert check(endpoint, CertificateAuthority(tmp_path / "other", "other-ca")) == Failure(Fault.UNREACHABLE)
    assert endpoint.calls == []
