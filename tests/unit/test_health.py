"""The port on which a process tells how it is, over real sockets."""

import json
import socket
import urllib.error
import urllib.request

import pytest

from functions.dev.processes import LOOPBACK
from functions.runtime.health import Checks, HealthServer
from functions.runtime.listening import Address
from functions.runtime.settings import SettingsError
from tests.unit.healthport import serving


@pytest.fixture
def complaints():
    return []


@pytest.fixture
def server(complaints):
    orders = {"/resend": lambda query: {"resent": len(query), **query}}
    with serving(Checks(lambda: complaints, lambda: b"up 1\n", orders=orders), Address(LOOPBACK, 0)) as made:
        yield made


def ask(server, path, method="GET"):
    request = urllib.request.Request(f"http://{LOOPBACK}:{server.port}{path}", method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_readiness_tells_every_complaint_and_liveness_has_its_own(server, complaints):
    assert ask(server, "/readyz?verbose") == (200, "ok\n")
    complaints += ["not listed yet", "no sink"]
    assert ask(server, "/readyz") == (503, "not listed yet\nno sink\n")
    assert ask(server, "/livez") == (200, "ok\n")


def test_metrics_are_the_page(server):
    assert ask(server, "/metrics") == (200, "up 1\n")


def test_an_order_is_carried_out_with_its_query(server):
    status, text = ask(server, "/resend?webapp=a/b", "POST")
    assert (status, json.loads(text)) == (200, {"resent": 1, "webapp": "a/b"})


@pytest.mark.parametrize(
    ("method", "path", "there"), [("GET", "/resend", "/livez, /readyz, /metrics"), ("POST", "/livez", "/resend")]
)
def test_what_is_not_there_names_what_is(server, method, path, there):
    assert ask(server, path, method) == (404, f"not found; there is {there}\n")


def test_an_order_from_elsewhere_is_refused(server):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"POST /resend HTTP/1.1\r\nhost: x\r\n\r\n")
        server._server.RequestHandlerClass(theirs, ("192.0.2.1", 1), server._server)
        assert ours.recv(4096).startswith(b"HTTP/1.1 403 ")


def test_a_port_that_is_taken_names_its_variable(server):
    with pytest.raises(SettingsError, match=f"^MY_PORT={server.port}: .*; choose a port that is free"):
        HealthServer(Checks(list, bytes), Address(LOOPBACK, server.port, "MY_PORT"))
