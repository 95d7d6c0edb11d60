"""One exchange over real sockets: what is kept, what is refused, and how each failure is named."""

import socket
import ssl
import threading
import time
from contextlib import closing, suppress

import pytest

from functions.dev.certificates import CertificateAuthority
from functions.dev.processes import LOOPBACK
from functions.runtime.answers import BadTls, Broken, NotConnected, TimedOut
from functions.runtime.connections import Connections, Patience, Request

SOON = Patience(connect=5.0, answer=5.0)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Server:
    """Sends the next of its answers, as it is, for each request; None closes the connection instead."""

    def __init__(self, *answers, context=None):
        self.requests, self.connections, self.closed = [], 0, threading.Semaphore(0)
        self._answers, self._context = list(answers), context
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5.0)

    def _run(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with sock, suppress(OSError):
                self._serve(self._context.wrap_socket(sock, server_side=True) if self._context else sock)
            self.closed.release()

    def _serve(self, sock):
        while request := sock.recv(65536):
            self.requests.append(request)
            answer = self._answers.pop(0) if self._answers else OK
            if answer is None:
                break
            for part in answer if isinstance(answer, list) else [answer]:
                sock.sendall(part)
        sock.close()


def connections(server, **more):
    return closing(Connections(f"http://{LOOPBACK}:{server.port}/", keep=2, headers={"user-agent": "tests"}, **more))


def get(path="/", **headers):
    return Request("GET", path, headers)


def test_a_request_is_one_write_with_host_length_and_its_headers():
    with Server() as server, connections(server) as ours:
        found = ours.send(Request("POST", "/a?b=1", {"x-y": "z"}, b"body"), SOON)
    head = (
        f"POST /a?b=1 HTTP/1.1\r\nhost: {LOOPBACK}:{server.port}\r\naccept-encoding: identity\r\nuser-agent: tests\r\n"
    )
    assert server.requests == [f"{head}x-y: z\r\ncontent-length: 4\r\n\r\nbody".encode()]
    assert (found.status, found.data, found.whole) == (200, b"hi", True)


def test_one_connection_carries_many_requests():
    with Server() as server, connections(server) as ours:
        assert [ours.send(get(), SOON).data for _ in range(5)] == [b"hi"] * 5
        assert server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1;x=y\r\ni\r\n0\r\n\r\n",
        [b"HTTP/1.1 200 OK\r\nContent-Le", b"ngth: 2\r\n\r\nh", b"i"],
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK,
    ],
    ids=["chunked", "in pieces", "after interim answers"],
)
def test_an_answer_is_whole_however_it_is_cut(answer):
    with Server(answer, answer) as server, connections(server) as ours:
        found = [ours.send(get(), SOON) for _ in range(2)]
        assert [(each.status, each.data, each.headers.get("link")) for each in found] == [(200, b"hi", None)] * 2
        assert server.connections == 1


def test_an_answer_without_a_length_ends_with_its_connection():
    with Server() as server, connections(server) as ours:
        server._serve = lambda sock: (sock.recv(65536), sock.sendall(b"HTTP/1.0 200 OK\r\n\r\nhi"))
        assert ours.send(get(), SOON).data == b"hi"


def test_repeated_headers_are_joined_and_named_in_lower_case():
    answer = b"HTTP/1.1 204 No Content\r\nX-A: 1\r\nx-a: 2\r\n\r\n"
    with Server(answer) as server, connections(server) as ours:
        found = ours.send(get(), SOON)
        assert (found.status, found.headers, found.data) == (204, {"x-a": "1, 2"}, b"")
        ours.send(get(), SOON)
        assert server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
        OK + b"HTTP/1.1 200 OK\r\nX-Second: yes\r\nContent-Length: 4\r\n\r\nmore",
    ],
    ids=["close", "more than was asked for"],
)
def test_a_connection_that_cannot_be_trusted_again_is_not_kept(answer):
    with Server(answer) as server, connections(server) as ours:
        first, second = ours.send(get(), SOON), ours.send(get(), SOON)
        assert (first.data, second.data, server.connections) == (b"hi", b"hi", 2)
        assert "x-second" not in first.headers


def test_a_connection_that_was_closed_while_it_rested_is_not_used(monkeypatch):
    monkeypatch.setattr("functions.runtime.connections._FRESH_SECONDS", 0.0)
    with Server() as server, connections(server) as ours:
        server._serve = lambda sock: (sock.recv(65536), sock.sendall(OK))  # one request for each connection
        for _ in range(3):
            assert ours.send(get(), SOON).status == 200
            assert server.closed.acquire(timeout=5.0)
        assert server.connections == 3


def test_a_body_beyond_the_limit_is_cut_and_its_connection_closed():
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n" + b"x" * 40000
    with Server(answer) as server, connections(server) as ours:
        found = ours.send(get(), SOON, limit=1000)
        assert not found.whole
        assert 1000 < len(found.data) < 40000
        ours.send(get(), SOON)
        assert server.connections == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, Broken),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhi", TimedOut),
        (b"SSH-2.0-OpenSSH_9.9\r\n", Broken),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", Broken),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi", Broken),
    ],
    ids=["closed", "silent", "no HTTP", "another protocol", "two lengths"],
)
def test_an_answer_that_does_not_come_is_named(answer, error):
    with Server(answer) as server, connections(server) as ours, pytest.raises(error):
        ours.send(get(), Patience(5.0, 0.3))


def drip(sock, begun, drops):
    sock.recv(65536)
    sock.sendall(begun)
    for _ in range(drops):
        time.sleep(0.02)
        sock.sendall(b"y")


@pytest.mark.parametrize("begun", [b"HTTP/1.1 200 OK\r\nx: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["headers", "body"])
def test_an_answer_that_comes_drop_by_drop_takes_no_longer_than_is_allowed(begun):
    with Server() as server, connections(server) as ours:
        server._serve = lambda sock: drip(sock, begun, 1000)
        with pytest.raises(TimedOut):
            ours.send(get(), Patience(5.0, 0.3))


def test_a_stream_may_last_as_long_as_something_comes():
    with Server() as server, connections(server) as ours:
        server._serve = lambda sock: drip(sock, b"HTTP/1.1 200 OK\r\n\r\n", 20)
        with ours.open(get(), Patience(5.0, 0.2)) as stream:
            assert stream.read() == (b"y" * 20, True)


def test_an_answer_that_breaks_off_is_no_answer():
    with Server() as server, connections(server) as ours:
        server._serve = lambda sock: (sock.recv(65536), sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"))
        with pytest.raises(Broken, match="ended before the answer did"):
            ours.send(get(), SOON)


def test_a_refusal_that_comes_before_the_whole_request_was_sent_is_heard():
    with Server() as server, connections(server) as ours:
        refusal = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno"
        server._serve = lambda sock: (sock.recv(1), sock.sendall(refusal))
        assert ours.send(Request("POST", "/", {}, b"x" * 2**24), SOON).status == 413


def test_nobody_there_is_not_connected():
    with Server() as server:
        port = server.port
    with closing(Connections(f"http://{LOOPBACK}:{port}", keep=1, headers={})) as ours, pytest.raises(NotConnected):
        ours.send(get(), SOON)


def test_tls_needs_an_authority_that_is_trusted(tmp_path):
    authority, other = (CertificateAuthority(tmp_path, name) for name in ("ours", "other"))
    issued = authority.issue("server", hosts=[LOOPBACK])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    trusted, foreign = (ssl.create_default_context(cafile=each.certificate) for each in (authority, other))
    with Server(context=context) as server:
        url = f"https://{LOOPBACK}:{server.port}"
        with closing(Connections(url, keep=1, headers={}, tls=lambda: trusted)) as ours:
            assert [ours.send(get(), SOON).data for _ in range(2)] == [b"hi"] * 2
        strangers = closing(Connections(url, keep=1, headers={}, tls=lambda: foreign))
        with strangers as ours, pytest.raises(BadTls, match="certificate verify failed"):
            ours.send(get(), SOON)


def test_what_must_not_be_sent_is_not_written():
    def refuse():
        raise PermissionError("not now")

    with Server() as server, connections(server, ready=refuse) as ours, pytest.raises(PermissionError, match="not now"):
        ours.send(get(), SOON)
    assert server.requests == []


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\nb", "a\rb"])
def test_a_header_cannot_smuggle_another_one(value):
    with Server() as server, connections(server) as ours, pytest.raises(ValueError, match="x-mine"):
        ours.send(get(**{"x-mine": value}), SOON)
    assert server.requests == []


@pytest.mark.parametrize("target", ["/a b", "/a\r\nx: y", "/é", "/\x7f"])
def test_a_target_is_printable_ascii(target):
    with Server() as server, connections(server) as ours, pytest.raises(ValueError, match="no target of a request"):
        ours.send(get(target), SOON)
    assert server.requests == []


def test_a_stream_that_another_thread_cuts_ends():
    start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n"
    with Server(start) as server, connections(server) as ours, ours.open(get(), Patience(5.0, 60.0)) as stream:
        pieces = iter(stream)
        assert next(pieces) == b"h"
        threading.Timer(0.1, stream.cut).start()
        with pytest.raises(Broken):
            next(pieces)
