"""On which addresses a process is reached, over real sockets."""

import socket
from contextlib import ExitStack, nullcontext
from types import SimpleNamespace

import pytest

from functions.runtime import server
from functions.runtime.health import Checks
from functions.runtime.listening import Address, everywhere, is_loopback
from tests.loopbacks import LOOPBACKS
from tests.unit.healthport import serving


def answers(host, port):
    try:
        with socket.create_connection((host, port), 5.0) as sock:
            sock.sendall(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n")
            return sock.makefile("rb").read().startswith(b"HTTP/1.1 200")
    except ConnectionRefusedError:
        return False


@pytest.fixture
def listen():
    """Starts a health server and gives its port."""
    with ExitStack() as stack:
        yield lambda host: stack.enter_context(serving(Checks(list, bytes), Address(host, 0))).port


def test_all_addresses_are_those_of_both_families(listen):
    port = listen(everywhere())
    assert all(answers(host, port) for host in LOOPBACKS)


@pytest.mark.parametrize("host", LOOPBACKS)
def test_one_address_is_that_one_alone(listen, host):
    port = listen(host)
    assert [each for each in LOOPBACKS if answers(each, port)] == [host]


@pytest.mark.parametrize(
    ("host", "text", "family"),
    [
        ("127.0.0.1", "127.0.0.1:80", socket.AF_INET),
        ("::", "[::]:80", socket.AF_INET6),
        ("fd00::1", "[fd00::1]:80", socket.AF_INET6),
    ],
)
def test_an_address_is_written_as_in_a_url(host, text, family):
    at = Address(host, 80)
    assert (str(at), at.family, server.options(at, 1, 1)["bind"]) == (text, family, text)


def without_ipv6(_family):
    raise OSError("Address family not supported by protocol")


def with_ipv6_alone(_family):
    return nullcontext(SimpleNamespace(getsockopt=lambda *_: 1))


@pytest.mark.parametrize("kernel", [without_ipv6, with_ipv6_alone])
def test_where_one_socket_cannot_be_both_families_it_is_ipv4(monkeypatch, kernel):
    monkeypatch.setattr(socket, "socket", kernel)
    assert everywhere() == "0.0.0.0"


@pytest.mark.parametrize(
    ("host", "said"),
    [("127.0.0.2", True), ("::1", True), ("::ffff:127.0.0.1", True), ("::ffff:192.0.2.1", False), ("fd00::1", False)],
)
def test_a_peer_on_the_same_host_is_known_in_either_family(host, said):
    assert is_loopback(host) is said
