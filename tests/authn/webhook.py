"""The shipped webhook as a process, and whoever talks to it: the API server's users, or a test in its place."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import urllib3
from prometheus_client.parser import text_string_to_metric_families

from functions.dev.processes import LOOPBACK, free_port
from tests.authn.hydra import API_AUDIENCES, AUDIENCE

CALLER = "kube-apiserver"
PATIENT = {"CALL_SECONDS": "8", "SLOW_SECONDS": "8", "TOTAL_SECONDS": "9"}
"""Where no provider is ill on purpose, a busy machine must not look like one that is."""
SHIPPED = {"CALL_SECONDS": "", "SLOW_SECONDS": "", "TOTAL_SECONDS": ""}
"""The shipped times."""


class Webhook:
    """`python -m functions.authn` on a fixed port; started and stopped at will."""

    def __init__(self, group, authority, port, folder: Path):
        self.port, self.health, self.folder = port, free_port(), folder
        self._group = group
        self.authority = authority
        self.certificate = authority.issue("authn", hosts=[LOOPBACK, "localhost"])
        self.caller = authority.issue(CALLER)
        self.url = f"https://{LOOPBACK}:{port}/authenticate"
        self.name = "authn"
        self._http = urllib3.PoolManager(
            ca_certs=str(authority.certificate),
            cert_file=str(self.caller.certificate),
            key_file=str(self.caller.key),
            maxsize=100,
            retries=False,
        )
        self._plain = urllib3.PoolManager(retries=False)

    def start(self, provider, environ=None, **settings):
        """Start it in front of `provider`, an introspection URL; settings are variables without their AUTHN_."""
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("AUTHN_", "OTEL_"))},
            "PORT": str(self.port),
            "HEALTH_PORT": str(self.health),
            "TLS_CERT_FILE": str(self.certificate.certificate),
            "TLS_KEY_FILE": str(self.certificate.key),
            "TLS_CLIENT_CA_FILE": str(self.authority.certificate),
            "DRAIN_SECONDS": "0",
            "AUTHN_PROVIDER_URL": provider,
            "AUTHN_PROVIDER_CA_FILE": str(self.authority.certificate),
            "AUTHN_CLIENT_AUTH": "none",
            "AUTHN_CALLER_NAMES": CALLER,
            "AUTHN_GROUPS_CLAIM": "ext.groups",
            "AUTHN_AUDIENCES": AUDIENCE,
            **(environ or {}),
            **{f"AUTHN_{name}": str(value) for name, value in (PATIENT | settings).items()},
        }
        self.process = self._group.start(self.name, [sys.executable, "-m", "functions.authn"], env)
        self.process.wait_until(self.ready)
        return self

    def ready(self):
        try:
            url = f"http://{LOOPBACK}:{self.health}/readyz"
            return self._plain.request("GET", url, timeout=1.0).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def kill(self):
        """Kill -9, worker first: its master would start another."""
        self.process.signal(signal.SIGSTOP)
        for pid in self._children():
            os.kill(pid, signal.SIGKILL)
        self.process.signal(signal.SIGKILL)
        self.process.wait(5)

    def stop(self):
        if self.process.returncode is None:
            self.kill()

    def review(self, token, audiences=API_AUDIENCES, version="v1", timeout=10.0):
        """What the API server would do: the status of one TokenReview."""
        document = {
            "apiVersion": f"authentication.k8s.io/{version}",
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": list(audiences)},
        }
        answer = self.post(json.dumps(document).encode(), timeout=timeout)
        assert answer.status == 200, answer.data
        assert "retry-after" not in answer.headers
        return answer.json()["status"]

    def post(self, body, headers=None, timeout=10.0):
        sent = {"content-type": "application/json", **(headers or {})}
        return self._http.request("POST", f"{self.url}?timeout=30s", body=body, headers=sent, timeout=timeout)

    def metrics(self):
        """Every sample by name and label values, such as `webapp_authn_decisions_total/authenticated/cache`."""
        text = self._plain.request("GET", f"http://{LOOPBACK}:{self.health}/metrics", timeout=5.0).data.decode()
        return {
            "/".join([sample.name, *sample.labels.values()]): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def decisions(self):
        """How many TokenReviews have been answered since the start."""
        return sum(value for name, value in self.metrics().items() if name.startswith("webapp_authn_decisions_total"))

    def breaker(self):
        return {0: "closed", 1: "half_open", 2: "open"}[int(self.metrics()["webapp_authn_breaker_state"])]

    def rss(self):
        """Resident memory of master and worker, in MiB."""
        pids = [self.process.pid, *self._children()]
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def _children(self):
        return [
            int(pid) for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        ]


class Users:
    """Clients of the API server, each with a bearer token; new connections are never made in vain."""

    def __init__(self, cluster):
        self.server = cluster.server
        self._http = urllib3.PoolManager(ca_certs=str(cluster.folder / "ca.crt"), maxsize=200, retries=False)

    def who(self, token, timeout=35.0):
        """The SelfSubjectReview's user info, or the status code of the refusal."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        url = f"{self.server}/apis/authentication.k8s.io/v1/selfsubjectreviews"
        headers = {"authorization": f"Bearer {token}"}
        answer = self._http.request("POST", url, json=body, headers=headers, timeout=timeout)
        return answer.json()["status"]["userInfo"] if answer.status == 201 else answer.status
