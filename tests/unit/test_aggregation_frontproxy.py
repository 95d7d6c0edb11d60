"""A certificate that was good when its connection was made is judged again with each request."""

import json
import socket
import ssl
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from functions.aggregation.fields import fields, keep
from functions.aggregation.frontproxy import FrontProxy
from functions.aggregation.requestheader import RequestHeader
from functions.aggregation.status import Unauthorized
from functions.dev.certificates import LIFETIME, CertificateAuthority

HOST = "history.webapp-system.svc"


class Clock:
    def __init__(self):
        self.now = datetime.now(UTC)

    def __call__(self):
        return self.now


class Request:
    """As gunicorn's, of which nothing but the headers is looked at."""

    def __init__(self, *headers):
        self.headers = list(headers)


@pytest.fixture(scope="module")
def authorities(tmp_path_factory):
    folder = tmp_path_factory.mktemp("authorities")
    return {name: CertificateAuthority(folder, name) for name in ("front", "users", "new")}


@pytest.fixture
def terms(authorities):
    pem = {name: each.certificate.read_bytes() for name, each in authorities.items()}
    return RequestHeader(pem["front"], pem["users"], frozenset({"front-proxy-client"}), ("x-remote-user",))


def connected(authorities, tmp_path, issuer="front", name="front-proxy-client"):
    """The server's side of a TLS connection whose client shows a certificate."""
    here, there = socket.socketpair()
    serving, pair = authorities["users"].issue("serving", hosts=[HOST], folder=tmp_path), None
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(serving.certificate, serving.key)
    server.verify_mode = ssl.CERT_OPTIONAL
    client = ssl.create_default_context(cafile=authorities["users"].certificate)
    if issuer:
        server.load_verify_locations(authorities[issuer].certificate)
        pair = authorities[issuer].issue(name, folder=tmp_path)
        client.load_cert_chain(pair.certificate, pair.key)
    ours = server.wrap_socket(here, server_side=True, do_handshake_on_connect=False)
    theirs = client.wrap_socket(there, server_hostname=HOST, do_handshake_on_connect=False)
    for side in (ours, theirs):
        side.setblocking(False)
    waiting = [theirs, ours]
    while waiting:
        side = waiting.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(side)
    return ours, theirs


def environ(connection, *headers):
    request: Any = Request(*headers)
    keep(request)
    return {"gunicorn.socket": connection, **{f"HTTP_{name}": value for name, value in request.headers}}


def test_certificate_that_ran_out_on_an_open_connection_counts_no_more(authorities, terms, tmp_path):
    clock = Clock()
    proxy = FrontProxy(lambda: terms, clock)
    ours, theirs = connected(authorities, tmp_path)
    with closing(ours), closing(theirs):
        asked = environ(ours, ("X-REMOTE-USER", "jane"))
        assert proxy.authenticate(asked).name == "jane"
        for moment in (clock.now + LIFETIME + timedelta(seconds=1), clock.now - timedelta(minutes=6)):
            clock.now = moment
            with pytest.raises(Unauthorized, match="not valid now"):
                proxy.authenticate(asked)


def test_terms_that_change_are_obeyed_on_an_open_connection_both_ways(authorities, terms, tmp_path):
    now = [terms]
    proxy = FrontProxy(lambda: now[0])
    ours, theirs = connected(authorities, tmp_path)
    new = authorities["new"].certificate.read_bytes()
    with closing(ours), closing(theirs):
        asked = environ(ours, ("X-REMOTE-USER", "jane"))
        for other, refusal in (
            (replace(terms, authorities=new + terms.authorities), ""),
            (replace(terms, authorities=new), "authority"),
            (replace(terms, allowed=frozenset({"other"})), "common name"),
            (replace(terms, allowed=frozenset()), ""),
            (replace(terms, names=("x-other",)), "names no user"),
            (terms, ""),
        ):
            now[0] = other
            if refusal:
                with pytest.raises(Unauthorized, match=refusal):
                    proxy.authenticate(asked)
            else:
                assert proxy.authenticate(asked).name == "jane"


@pytest.mark.parametrize("issuer", ["users", ""])
def test_connection_of_anybody_else_names_nobody(authorities, terms, tmp_path, issuer):
    ours, theirs = connected(authorities, tmp_path, issuer)
    with closing(ours), closing(theirs), pytest.raises(Unauthorized):
        FrontProxy(lambda: terms).authenticate(environ(ours, ("X-REMOTE-USER", "root")))


def test_plain_connection_names_nobody(terms):
    here, there = socket.socketpair()
    with closing(here), closing(there):
        for connection in (here, None):
            with pytest.raises(Unauthorized):
                FrontProxy(lambda: terms).authenticate(environ(connection, ("X-REMOTE-USER", "root")))


def test_fields_are_kept_as_they_came_and_a_copy_of_the_clients_is_lost():
    forged = ("FIELDS AS THEY CAME", json.dumps([["X-REMOTE-USER", "root"]]))
    came = [("X-REMOTE-GROUP", "a,b"), ("X-REMOTE-GROUP", "c"), ("X_REMOTE_GROUP", "d"), ("X-Y", "\xfc")]
    found = environ(None, *came, forged)
    assert fields(found) == came
    assert not [name for name in found if name.startswith("HTTP_X_")]


def test_server_without_the_hook_believes_nobody(terms, authorities, tmp_path):
    ours, theirs = connected(authorities, tmp_path)
    with closing(ours), closing(theirs), pytest.raises(KeyError):
        FrontProxy(lambda: terms).authenticate({"gunicorn.socket": ours, "HTTP_X_REMOTE_USER": "root"})
