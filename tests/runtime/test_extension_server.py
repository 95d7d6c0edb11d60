"""The serving profile of webhooks: certificates that change, connections that idle, a drain that answers."""

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import sys
import time
import urllib.request
from contextlib import ExitStack

import pytest

from functions.dev.certificates import CertificateAuthority
from functions.dev.processes import LOOPBACK, ProcessGroup, free_port
from functions.runtime.settings import SettingsError
from functions.runtime.tls import Profile
from tests.loopbacks import LOOPBACKS

HOST = "echo.webapp-system.svc"


class Server:
    """One running echo server, its files and its clients."""

    def __init__(self, stack, folder, threads=4, drain=0):
        self.folder, self._stack = folder, stack
        group = stack.enter_context(ProcessGroup())
        self.authority = CertificateAuthority(folder, "ca")
        self.install(self.authority.issue("first", hosts=[HOST]))
        self.port, self.health = free_port(), free_port()
        env = {
            **os.environ,
            "PORT": str(self.port),
            "HEALTH_PORT": str(self.health),
            "TLS_CERT_FILE": str(folder / "tls.crt"),
            "TLS_KEY_FILE": str(folder / "tls.key"),
            "SERVER_THREADS": str(threads),
            "DRAIN_SECONDS": str(drain),
        }
        self.process = group.start("echo", [sys.executable, "-m", "tests.runtime.echo"], env)
        self.process.wait_until(lambda: self.ready() == 200)

    def install(self, pair):
        shutil.copyfile(pair.key, self.folder / "tls.key")
        shutil.copyfile(pair.certificate, self.folder / "tls.crt")

    def ready(self):
        try:
            with urllib.request.urlopen(f"http://{LOOPBACK}:{self.health}/readyz") as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except OSError:
            return 0

    def connect(self, *, host=LOOPBACK, timeout=10):
        """A TLS connection that has asked nothing yet."""
        context = ssl.create_default_context(cafile=self.authority.certificate)
        plain = socket.create_connection((host, self.port), timeout)
        return self._stack.enter_context(context.wrap_socket(plain, server_hostname=HOST))

    def client(self):
        client = http.client.HTTPConnection(HOST)
        client.sock = self.connect()
        return client


@pytest.fixture
def start(tmp_path):
    with ExitStack() as stack:
        yield lambda **options: Server(stack, tmp_path, **options)


def ask(client):
    client.request("GET", "/echo?token=secret", headers={"authorization": "Bearer secret"})
    answer = client.getresponse()
    return answer.status, answer.read(), answer.getheader("connection")


def serial(server):
    with server.connect() as connection:
        return connection.getpeercert()["serialNumber"]


def test_every_address_of_the_machine_is_served(start):
    server = start()
    for host in LOOPBACKS:
        client = http.client.HTTPConnection(HOST)
        client.sock = server.connect(host=host)
        assert ask(client)[0] == 200


def test_replaced_certificate_serves_the_next_connection(start):
    server = start()
    kept, before = server.client(), serial(server)
    assert ask(kept)[0] == 200
    server.install(server.authority.issue("second", hosts=[HOST]))
    assert serial(server) != before
    assert ask(kept)[0] == 200  # on the connection of the old certificate


def test_half_written_pair_leaves_the_old_certificate_in_place(start):
    server = start()
    pair = server.authority.issue("second", hosts=[HOST])
    shutil.copyfile(pair.certificate, server.folder / "tls.crt")  # before anybody has connected
    before = serial(server)
    assert before == serial(server)
    shutil.copyfile(pair.key, server.folder / "tls.key")
    assert serial(server) != before
    assert "cannot be used" in server.process.log.read_text()


def test_connections_without_a_request_hold_no_thread(start):
    server = start(threads=2)
    idle = [server.connect() for _ in range(6)]
    assert ask(server.client())[0] == 200
    for connection in idle:
        connection.sendall(b"GET /echo HTTP/1.1\r\nhost: x\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"


def test_stalled_handshakes_do_not_keep_their_threads(start):
    server = start(threads=2)
    with ExitStack() as stack:
        for _ in range(2):
            stalled = stack.enter_context(socket.create_connection((LOOPBACK, server.port)))
            stalled.sendall(b"\x16\x03\x01")
        assert ask(server.client())[0] == 200


def test_answers_go_on_after_sigterm_until_the_drain_ends(start):
    server = start(drain=2)
    kept = server.client()
    assert ask(kept) == (200, b"hello", "keep-alive")
    server.process.signal(signal.SIGTERM)
    server.process.wait_until(lambda: server.ready() == 503)
    assert ask(server.client()) == (200, b"hello", "close")
    assert ask(kept) == (200, b"hello", "close")
    assert server.process.wait(15) == 0


def test_second_sigterm_does_not_cut_the_drain_short(start):
    server = start(drain=2)
    server.process.signal(signal.SIGTERM)
    server.process.wait_until(lambda: server.ready() == 503)
    server.process.signal(signal.SIGTERM)
    assert ask(server.client())[0] == 200


def test_access_line_has_neither_query_nor_headers(start):
    server = start()
    ask(server.client())
    server.process.wait_until(lambda: "duration_ms" in server.process.log.read_text())
    (line,) = [each for each in server.process.log.read_text().splitlines() if "duration_ms" in each]
    found = json.loads(line)
    assert (found["method"], found["path"], found["status"]) == ("GET", "/echo", 200)
    assert "secret" not in line


def test_idle_connection_is_kept_longer_than_the_api_server_keeps_it(start):
    server = start()
    kept = server.client()
    assert ask(kept)[0] == 200
    time.sleep(100 if os.environ.get("CI") == "true" else 4)  # gunicorn's own default is 2
    assert ask(kept)[0] == 200


def test_unusable_certificate_is_refused_at_start_with_the_cure(tmp_path):
    (tmp_path / "tls.crt").write_text("nothing")
    environ = {"TLS_CERT_FILE": str(tmp_path / "tls.crt"), "TLS_KEY_FILE": str(tmp_path / "tls.key")}
    with pytest.raises(SettingsError, match=r"tls\.key.*TLS_KEY_FILE"):
        Profile.load(environ)
