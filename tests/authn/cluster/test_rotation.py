"""Certificates and secrets are replaced under load, and nobody is told anything wrong."""

from __future__ import annotations

import base64
import shutil
import threading
import time

from tests.authn.webhook import Webhook


def basic(secret):
    return "Basic " + base64.b64encode(f"webhook:{secret}".encode()).decode()


def replace(path, text):
    """As the kubelet does: whole or not at all."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


def test_replacing_certificate_and_client_secret_under_load_gives_no_wrong_answer(
    group, shipped, front, hydra, tmp_path
):
    webhook = Webhook(group, shipped.authority, shipped.port, tmp_path)
    webhook.name = "rotating"
    secret = tmp_path / "secret"
    secret.write_text("first")
    front.secrets = {basic("first")}
    good = [hydra.token(hydra.client(f"rota-{number}")) for number in range(4)]
    webhook.start(
        front.url,
        CLIENT_AUTH="client_secret_basic",
        CLIENT_ID="webhook",
        CLIENT_SECRET_FILE=secret,
        CACHE_SECONDS="0",
        CACHE_BAD_SECONDS="0",
        KNOWN_RATE="100000",
        KNOWN_BURST="100000",
        STRANGER_RATE="100000",
        STRANGER_BURST="100000",
    )
    over = threading.Event()
    wrong: list[object] = []
    served: list[object] = []

    def load(token, expected):
        while not over.is_set():
            status = webhook.review(token)
            (served if status.get("authenticated") is expected and "error" not in status else wrong).append(status)

    tokens = [*((token, True) for token in good), *((f"bad-{number}", False) for number in range(2))]
    threads = [threading.Thread(target=load, args=each) for each in tokens]
    for thread in threads:
        thread.start()
    try:
        for number in range(5):
            front.secrets = {basic(f"secret-{number}"), *front.secrets}  # the provider takes both for a while
            replace(secret, f"secret-{number}")
            pair = shipped.authority.issue(f"authn-{number}", hosts=["127.0.0.1"])
            shutil.copyfile(pair.key, webhook.certificate.key)
            shutil.copyfile(pair.certificate, webhook.certificate.certificate)
            webhook._http.clear()  # new connections, new handshakes
            time.sleep(0.5)
            front.secrets = {basic(f"secret-{number}")}
            time.sleep(0.2)
    finally:
        over.set()
        for thread in threads:
            thread.join()
        webhook.stop()
    assert wrong == []
    assert len(served) > 50
    assert front.shown[-1] == basic("secret-4")
    assert webhook.process.log.read_text().count("breaker is open") == 0
