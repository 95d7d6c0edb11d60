"""Writes tests/data/pods: what a real API server sends webhooks for each scene. `python -m tests.admission.capture`."""

import base64
import json
import ssl
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from functions.admission.review import API_VERSION, KIND
from functions.dev.certificates import CertificateAuthority
from functions.dev.cluster import KubectlError
from functions.dev.controlplane import ControlPlane
from functions.dev.processes import LOOPBACK, ProcessGroup, free_port
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.admission.rig import Webhooks, service

FOLDER = Path(__file__).resolve().parents[1] / "data" / "pods"
SCENES = yaml.safe_load(Path(__file__).with_name("scenes.yaml").read_text())


class Listener(BaseHTTPRequestHandler):
    """Admits everything and keeps what it was asked; `wrongly` are fields of its answers that are not right."""

    protocol_version = "HTTP/1.1"
    reviews: list[Any] = []  # noqa: RUF012 - one list for one process
    wrongly: dict[str, str] = {}  # noqa: RUF012 - a constant

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.reviews.append(review)
        wrong = dict(self.wrongly)
        response = {"uid": wrong.pop("uid", review["request"]["uid"]), "allowed": True}
        if patch := self.patch(review["request"]["object"]):
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        body = json.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": response, **wrong}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def patch(self, _pod):
        return []

    def log_message(self, *_):
        pass


def patching(patch):
    """A listener that answers with what `patch` makes of each Pod."""
    return type("Patching", (Listener,), {"patch": lambda _self, pod: patch(pod)})


@contextmanager
def listen(cluster, *, operations=("CREATE", "UPDATE"), name="zz-capture", handler=Listener, failure_policy="Fail"):
    """A mutating webhook that runs after ours."""
    port = free_port()
    authority = CertificateAuthority(cluster.folder, f"{name}-ca")
    pair = authority.issue(name, hosts=[f"{name}.{SYSTEM_NAMESPACE}.svc"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    server = ThreadingHTTPServer((LOOPBACK, port), handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    bundle = base64.b64encode(authority.certificate.read_bytes()).decode()
    rule = {"operations": [*operations], "apiGroups": [""], "apiVersions": ["v1"]}
    webhook = {
        "name": f"{name}.platform.example.com",
        "clientConfig": {"service": {"name": name, "namespace": SYSTEM_NAMESPACE, "port": port}, "caBundle": bundle},
        "rules": [{**rule, "resources": ["pods", "pods/ephemeralcontainers"]}],
        "failurePolicy": failure_policy,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1", "v1beta1"],
    }
    configuration = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    cluster.apply([service(name, port), {**configuration, "metadata": {"name": name}, "webhooks": [webhook]}])
    try:
        wait_registered(cluster, handler)
        yield server
    finally:
        cluster.kubectl("delete", "mutatingwebhookconfiguration", name)
        server.shutdown()
        server.server_close()
        thread.join()


def wait_registered(cluster, handler):
    """The API server hears of a configuration by a watch: create Pods, as a rehearsal, until the handler is asked."""
    handler.reviews.clear()
    probe = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "probe-", "namespace": "default"}}
    probe["spec"] = {"securityContext": {"runAsNonRoot": True}, "containers": [{"name": "c", "image": "c"}]}
    while not handler.reviews:
        with suppress(KubectlError):
            cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(probe))
    handler.reviews.clear()


def play(cluster, name, scene):
    """Do what a scene says in a namespace of its name."""
    labels = scene.get("namespace", {})
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    while not cluster.kubectl("get", "serviceaccount", "default", "-n", name, "--ignore-not-found"):
        pass
    pod = {"apiVersion": "v1", "kind": "Pod"}
    if "apply" in scene:
        wanted = {**pod, **scene["apply"]}
        wanted["metadata"] = {"name": name, **wanted.get("metadata", {})}
        cluster.kubectl("apply", "-n", name, "-f", "-", stdin=json.dumps(wanted))
    for command in scene.get("run", ()):
        stdin = json.dumps({**pod, **scene["stdin"]}) if "stdin" in scene else None
        arguments = [each.replace("SCENE", name) for each in command]
        dashes = arguments.index("--") if "--" in arguments else len(arguments)
        cluster.kubectl(*arguments[:dashes], "-n", name, *arguments[dashes:], stdin=stdin)


def chosen(name, scene):
    """The last review of the kind that the scene is about, or None so far."""
    found = [
        review
        for review in Listener.reviews
        if review["request"]["namespace"] == name
        and review["request"]["operation"] == scene.get("operation", "CREATE")
        and scene.get("pod", "") in {"", review["request"].get("name", "")}
    ]
    return found[-1] if found else None


def main():
    with ControlPlane() as cluster, ProcessGroup() as group:
        cluster.install()
        with Webhooks(cluster, group):
            cluster.kubectl("delete", "validatingwebhookconfiguration", "webapp-guard")
            with listen(cluster):
                record(cluster)


def record(cluster):
    """Play every scene, then write what came of it."""
    for name, scene in SCENES.items():
        play(cluster, name, scene)
    FOLDER.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + 20
    for name, scene in SCENES.items():
        while (review := chosen(name, scene)) is None:
            if time.monotonic() > deadline:
                raise SystemExit(f"{name}: the API server has not asked about it")
            time.sleep(0.1)
        (FOLDER / f"{name}.json").write_text(json.dumps(review, indent=1) + "\n")


if __name__ == "__main__":
    main()
