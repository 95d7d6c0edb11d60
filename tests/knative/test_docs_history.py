"""docs/history.md does what it says: it installs a history that answers, and removes it without a dead APIService."""

import base64
import os
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from functions.dev.cluster import KubectlError
from functions.dev.processes import ProcessGroup, free_port
from functions.dev.toolchain import Toolchain
from functions.history.settings import Database
from functions.history.store import Store
from functions.webapp.resources import SYSTEM_NAMESPACE, Resource
from tests import docs
from tests.admission.balancer import ready
from tests.cluster.admin import NAMESPACE, Admin
from tests.history.runs import HISTORY, row
from tests.knative.kustomize import FOLDER
from tests.meanwhile import Meanwhile

ROOT = FOLDER.parent
PAGE = ROOT / "docs" / "history.md"
SERVER = "webapp-history"
REGISTRATION = f"v1alpha1.{HISTORY}"
API_SERVICE = Resource("apiregistration.k8s.io", "v1", "APIService", "apiservices")
SECRET = Resource("", "v1", "Secret", "secrets")
SERVICE = Resource("", "v1", "Service", "services")


class Node(Meanwhile):
    """What the fake node lacks: it runs the server once its certificate is there, and leads the Service to it."""

    pause = 0.1

    def __init__(self, cluster, admin, database):
        self._cluster, self._admin, self._database = cluster, admin, database
        self._group = ProcessGroup(grace=1)
        self._port, self._health = free_port(), free_port()
        self.process = None
        self.states: list[str] = []

    def __enter__(self):
        self._group.__enter__()
        return super().__enter__()

    def __exit__(self, *_):
        super().__exit__()
        self._group.__exit__()

    def again(self):
        secret = self._admin.find(SECRET, SYSTEM_NAMESPACE, f"{SERVER}-tls")
        if self.process is None and secret:
            self._start(secret["data"])
        self._lead(SERVICE, SYSTEM_NAMESPACE, SERVER)
        registration = self._lead(API_SERVICE, "", REGISTRATION)
        state = _available(registration)
        if self.states[-1:] != [state]:
            self.states.append(state)

    def _start(self, data):
        for name in ("tls.crt", "tls.key"):
            (self._group.folder / name).write_bytes(base64.b64decode(data[name]))
        env = {
            **os.environ,
            "KUBECONFIG": str(self._cluster.service_account_kubeconfig(SYSTEM_NAMESPACE, SERVER)),
            "HISTORY_DATABASE_URL": self._database,
            "TLS_CERT_FILE": str(self._group.folder / "tls.crt"),
            "TLS_KEY_FILE": str(self._group.folder / "tls.key"),
            "PORT": str(self._port),
            "HEALTH_PORT": str(self._health),
            "DRAIN_SECONDS": "0",
        }
        self.process = self._group.start(SERVER, [sys.executable, "-m", "functions.history.apiserver"], env)
        self.process.wait_until(lambda: ready(self._health), 60)

    def _lead(self, resource, namespace, name):
        """Let kube-apiserver find the process where it looks for a Pod."""
        found = self._admin.find(resource, namespace, name)
        if found and resource is SERVICE and found["spec"]["type"] != "ExternalName":
            ports = [{"name": "https", "port": self._port, "targetPort": None}]
            cleared = {"clusterIP": None, "clusterIPs": None, "selector": None}
            spec = {"type": "ExternalName", "externalName": "localhost", "ports": ports, **cleared}
            self._admin.merge(resource, namespace, name, {"spec": spec})
        if found and resource is API_SERVICE and found["spec"]["service"]["port"] != self._port:
            self._admin.merge(resource, namespace, name, {"spec": {"service": {"port": self._port}}})
        return found


def _available(registration):
    """`absent`, `new`, or the condition's status."""
    if registration is None:
        return "absent"
    conditions = registration.get("status", {}).get("conditions", ())
    return next((each["status"] for each in conditions if each["type"] == "Available"), "new")


@pytest.fixture
def node(knative, tmp_path):
    """With one run in the database."""
    database = f"sqlite:///{tmp_path}/history.db"
    store = Store(Database.load({"HISTORY_DATABASE_URL": database}), HISTORY)
    store.append([row(1, namespace="shop", started_at=datetime.now(UTC) - timedelta(minutes=3))])
    store.close()
    with Node(knative, Admin(knative.kubeconfig), database) as found:
        yield found


def test_page_installs_what_answers_and_removes_it_without_a_dead_registration(knative, node, tmp_path):
    admin = Admin(knative.kubeconfig)
    knative.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(FOLDER / "overlays" / "broker"))
    programs = [str(Path(sys.executable).parent), str(Toolchain.from_environment().find("kubectl").parent)]
    environ = {
        **os.environ,
        "PATH": os.pathsep.join([*programs, os.environ["PATH"]]),
        "KUBECONFIG": str(knative.kubeconfig),
        "KUBECACHEDIR": str(tmp_path),
    }
    assert docs.run(PAGE, environ, ROOT) == 6
    lived = [state for state in node.states if state != "new"]
    assert re.fullmatch(r"absent (False )?True absent", " ".join(lived)), node.states
    for kind in ("deployment", "service", "ksvc", "serviceaccount", "poddisruptionbudget", "trigger", "configmap"):
        found = knative.kubectl("get", kind, "-n", SYSTEM_NAMESPACE, "-o", "name").splitlines()
        assert [each for each in found if "history" in each] == []
    with pytest.raises(KubectlError, match="doesn't have a resource type"):
        knative.kubectl("get", "reconciles")
    admin.create(NAMESPACE, {"metadata": {"name": "shop-is-closed"}})
    admin.delete(NAMESPACE, "", "shop-is-closed")
    admin.wait_gone(NAMESPACE, "", "shop-is-closed")


def test_registration_is_the_first_thing_that_the_page_deletes():
    (uninstall,) = [block.text for block in docs.blocks(PAGE) if "kubectl delete" in block.text]
    deleted = [line.split("-k ")[-1] for line in uninstall.splitlines() if line.startswith("kubectl delete")]
    assert deleted == [f"knative/extensions/history{each}" for each in ("/apiservice", "/broker", "")]


def test_page_lists_every_variable_and_no_other():
    code = "".join(path.read_text() for path in (ROOT / "functions" / "history").rglob("settings.py"))
    known = set(re.findall(r'"(HISTORY_[A-Z_]+)"', code))
    named = set(re.findall(r"(?<![A-Z_])HISTORY_[A-Z_]+", PAGE.read_text()))
    assert named == known
