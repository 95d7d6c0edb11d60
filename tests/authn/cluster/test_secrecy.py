"""No token, no credential and no name of a user gets into logs, metrics, spans or error texts."""

from __future__ import annotations

import json

from tests.authn.collector import Collector

SECRET = "webhook-client-secret"
FACES = ["pass", 500, 429, 401, 400, "reset", 0.1]


def test_nothing_secret_leaves_the_webhook(webhook, front, hydra, users, plane):
    name = hydra.client("sphinx", groups=["riddlers"])
    token = hydra.token(name)
    (webhook.folder / "secret").write_text(SECRET)
    with Collector() as collector:
        webhook.start(
            front.url,
            {
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
                "WEBAPP_LOG_LEVEL": "DEBUG",
                "OTEL_BSP_SCHEDULE_DELAY": "200",
            },
            CLIENT_AUTH="client_secret_basic",
            CLIENT_ID="webhook-client",
            CLIENT_SECRET_FILE=webhook.folder / "secret",
            CACHE_SECONDS="0",
            BREAKER_RUN="1000",
            BREAKER_CALLS="1000",
        )
        told = ""
        for face in FACES:
            front.mode = face
            for each in (token, f"{token}-forged", token.replace("ory", "öry")):
                told += json.dumps({**webhook.review(each), "user": None})
            users.who(f"{token}-{face}")
        webhook.post(json.dumps({"kind": "TokenReview", "spec": {"token": token}}).encode())
        webhook.post(token.encode())
        told += json.dumps(webhook.metrics())
        webhook.process.stop()
        spans = collector.taken
    logs = webhook.process.log.read_text() + (plane.folder / "kube-apiserver.log").read_text()
    assert b"user.hash" in spans  # there are spans, with what they may say
    assert '"level": "debug"' in logs
    secrets = [token, token.split(".")[1], SECRET, front.shown[-1].removeprefix("Basic ")]
    for secret in secrets:
        assert secret
        assert secret not in told
        assert secret not in logs
        assert secret.encode() not in spans
    ours = webhook.process.log.read_text() + told
    assert "sphinx" not in ours
    assert b"sphinx" not in spans
