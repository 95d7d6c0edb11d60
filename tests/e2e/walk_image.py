"""The image as a container: `make image-test` builds it, runs it as strictly as a pod, and tells its figures."""

import json
import os
import threading
import time
import urllib.parse
from typing import cast

import pytest

from functions.dev.controlplane import ControlPlane
from functions.dev.image import TAG, Podman
from functions.dev.processes import LOOPBACK, Process, free_port
from functions.dev.toolchain import cache_folder
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.builders import asking, webapp
from tests.cluster.admin import Admin, until
from tests.cluster.sender import Function, Sender
from tests.e2e.container import Container
from tests.knative.valve import Valve

MEMORY = "256m"
UNCOMPILED = (
    "import os, sys, functions.reconcile.app; "
    "files = [getattr(module, '__cached__', None) for module in sys.modules.values()]; "
    "print([file for file in files if file and not os.path.exists(file)])"
)
TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.fixture(scope="module")
def podman():
    found = Podman(cache_folder(os.environ) / "image")
    found.build()
    return found


@pytest.fixture(scope="module")
def cluster():
    with ControlPlane() as control_plane:
        control_plane.install()
        yield control_plane


@pytest.fixture
def account(cluster, tmp_path):
    """What the kubelet would mount: a token and the authority."""
    token = cluster.kubectl("create", "token", "webapp-reconciler", "-n", SYSTEM_NAMESPACE)
    (tmp_path / "token").write_text(token)
    (tmp_path / "ca.crt").write_bytes((cluster.folder / "ca.crt").read_bytes())
    for path in (tmp_path, *tmp_path.iterdir()):
        path.chmod(0o755)
    return tmp_path


@pytest.fixture
def apiserver(cluster):
    with Valve(urllib.parse.urlsplit(cluster.server).port) as valve:
        yield valve


@pytest.fixture
def started(podman, account, apiserver):
    port = free_port()
    environ = {"PORT": str(port), "KUBERNETES_SERVICE_HOST": LOOPBACK, "KUBERNETES_SERVICE_PORT": str(apiserver.port)}
    began = time.monotonic()
    with Container(podman, TAG, MEMORY, environ, {account: TOKEN_FOLDER}) as running:
        function = Function(cast("Process", running), port)
        until(function.ready)
        print(f"\nfrom `podman run` to the first answer: {time.monotonic() - began:.2f} s")
        yield running, function
        function.close()


@pytest.fixture
def container(started):
    return started[0]


@pytest.fixture
def sender(cluster, started):
    _, function = started
    cluster.kubectl("create", "namespace", namespace := f"image-{function.port}")
    return Sender(cluster, Admin(cluster.kubeconfig), namespace, function)


def test_event_is_reconciled_inside_the_limits(sender, container):
    sender.apply(webapp(asking(host="web.example.com")))
    assert sender.send().status == 204
    assert all(sender.children().values())
    peak = int(container.run("cat /sys/fs/cgroup/memory/memory.max_usage_in_bytes"))
    limit = int(container.run("cat /sys/fs/cgroup/memory/memory.limit_in_bytes"))
    print(f"\nmemory of the container at its peak: {peak / 2**20:.0f} MiB of {limit / 2**20:.0f}")
    assert limit == 256 * 2**20
    assert peak < 100 * 2**20


def test_container_has_no_rights_and_nothing_to_write_on(container):
    status = dict(line.split(":\t", 1) for line in container.run("cat /proc/1/status").splitlines() if ":\t" in line)
    assert status["Uid"].split() == ["65532"] * 4
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert status["NoNewPrivs"] == "1"
    with pytest.raises(AssertionError, match="Read-only file system"):
        container.run("touch /opt/webapp/x")


def test_request_in_flight_survives_sigterm(sender, container, apiserver):
    sender.apply(webapp())
    apiserver.shut()
    answers = []
    request = threading.Thread(target=lambda: answers.append(sender.send(None)))
    request.start()
    assert apiserver.waiting.wait(10)
    container.podman("kill --signal TERM app")
    apiserver.open()
    request.join()
    assert [answer.status for answer in answers] == [204]
    assert all(sender.children()[kind] for kind in ("Deployment", "Service"))
    assert container.podman("wait app").splitlines()[-1] == "0"


def test_image_is_small_and_brings_compiled_code(podman, container):
    (image,) = json.loads(podman("image", "inspect", TAG))
    layers = json.loads(podman("history", "--format", "json", TAG))
    print(f"\nimage: {image['Size'] / 2**20:.0f} MiB")
    for layer in layers:
        if layer["size"]:
            print(f"  {layer['size'] / 2**20:6.1f} MiB  {layer['CreatedBy'][:90]}")
    assert sum(layer["size"] for layer in layers[:-1]) < 80 * 2**20, "beside the base image"
    assert image["Config"]["User"] == "65532:65532"
    missing = container.run(f'python -c "{UNCOMPILED}"')
    assert missing == "[]"
