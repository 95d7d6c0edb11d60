"""Knative's queue-proxy as a process before the reconcile function, told what Serving would tell it of our manifest."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import urllib3

from functions.dev.processes import LOOPBACK, Process, ProcessGroup, free_port
from functions.dev.toolchain import Toolchain

ADMIN = f"http://{LOOPBACK}:8022"
"""Fixed in Knative, as are 9090 and 9091: one queue-proxy on a machine at a time."""

PROBE = {"k-network-probe": "queue", "user-agent": "kube-probe/1.36"}
"""How kubelet and activator ask queue-proxy whether the container behind it is ready."""


class QueueProxy:
    """Started into a ProcessGroup; `url` leads through it to the function on `user_port`."""

    def __init__(self, processes: ProcessGroup, service: dict[str, Any], user_port: int) -> None:
        pod = service["spec"]["template"]["spec"]
        probe = pod["containers"][0]["readinessProbe"]["httpGet"]
        wanted = {"httpGet": {**probe, "host": LOOPBACK, "port": user_port, "scheme": "HTTP"}, "successThreshold": 1}
        port = free_port()
        self.url = f"http://{LOOPBACK}:{port}/"
        self.http = urllib3.PoolManager(retries=False, timeout=60.0, maxsize=64)
        environ = {
            "CONTAINER_CONCURRENCY": str(pod["containerConcurrency"]),
            "QUEUE_SERVING_PORT": str(port),
            "QUEUE_SERVING_TLS_PORT": str(free_port()),
            "USER_PORT": str(user_port),
            "REVISION_TIMEOUT_SECONDS": str(pod["timeoutSeconds"]),
            "SERVING_READINESS_PROBE": json.dumps(wanted),
            "SERVING_LOGGING_CONFIG": "",
            "SERVING_LOGGING_LEVEL": "",
            "SERVING_NAMESPACE": "webapp-system",
            "SERVING_SERVICE": "webapp-reconciler",
            "SERVING_CONFIGURATION": "webapp-reconciler",
            "SERVING_REVISION": "webapp-reconciler-00001",
            "SERVING_POD": "webapp-reconciler-00001-pod",
            "SERVING_POD_IP": LOOPBACK,
            "HOST_IP": LOOPBACK,
            "ROOT_CA": "",
        }
        program: Path = Toolchain.from_environment().find("queue-proxy")
        self.process: Process = processes.start("queue-proxy", [program], environ)
        self.process.wait_until(lambda: self._listens(port))

    def probe(self) -> int:
        """What a readiness probe of the pod is answered; 0 where nobody listens."""
        try:
            return self.http.request("GET", self.url, headers=PROBE).status
        except urllib3.exceptions.HTTPError:
            return 0

    @staticmethod
    def _listens(port: int) -> bool:
        with socket.socket() as client:
            return client.connect_ex((LOOPBACK, port)) == 0

    def wait_for_drain(self) -> int:
        """What the container's preStop hook asks before the container may be told to end."""
        return self.http.request("GET", f"{ADMIN}/wait-for-drain").status
