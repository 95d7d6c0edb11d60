"""The steps of the demo: apply, edit, break by hand, replay, delete, look back."""

from __future__ import annotations

import json
import shutil
import subprocess
import time

from functions.dev import answer, curl
from functions.dev.demo import OTHER_GROUP, Play, Stage, Step, exists, hold, sample
from functions.dev.recording import short
from functions.dev.replay import webapp
from functions.dev.sender import Sender
from functions.webapp.outcome import Outcome
from functions.webapp.resources import DEFAULT_GROUP

WAIT = "--timeout=60s"
WEB = "-n webapp-demo"
BLOG = "-n demo"
WEB_KIND = f"webapps.{DEFAULT_GROUP}"
BLOG_KIND = f"webapps.{OTHER_GROUP}"
"""In full, since `wa` may mean either where two groups are served."""

TRACES = "{.items[*].status.trace.traceID}"
RECORDED_SECONDS = 10.0
CHILDREN = "deployment,service,ingress"


def steps(*, history: bool) -> list[tuple[Step, Play]]:
    """All steps in their order; the last looks into the history, if there is one."""
    found: list[tuple[Step, Play]] = [
        (Step("kubectl apply -f knative/samples/webapp.yaml", "web has Deployment and Service and is Ready"), _web),
        (Step("kubectl apply -f knative/samples/my-webapp.yaml", "myblog has an Ingress too and is Ready"), _blog),
        (Step("edit the image of web", "the Deployment rolled out the new image"), _image),
        (Step("scale web to 5 replicas", "five pods are ready, and the status says so"), _scale),
        (Step("give web a host", "an Ingress serves it, and the status has its url"), _host),
        (Step("take the host away again", "the Ingress is gone"), _no_host),
        (Step("delete the Service of web by hand", "it is back"), _service),
        (Step("kubectl set env deployment/web OOPS=1", "the Deployment is as the WebApp wants it"), _drift),
        (Step("send the newest event of web again, with curl", "nothing changed"), _replay),
        (Step("delete both WebApps", "everything they owned is gone"), _delete),
    ]
    if history:
        found.append((Step("kubectl get reconciles --all-namespaces", "every run is there, with its trace"), _history))
    return found


def _web(stage: Stage) -> None:
    stage.cluster.apply(sample(DEFAULT_GROUP))
    stage.kubectl(f"wait {WEB} --for=condition=Ready {WEB_KIND}/web {WAIT}")
    _ready(stage, 3)
    hold(exists(stage, f"service/web {WEB}"), "there is no Service web")
    hold(not exists(stage, f"ingress/web {WEB}"), "there is an Ingress web, which nobody asked for")


def _blog(stage: Stage) -> None:
    stage.cluster.apply(sample(OTHER_GROUP))
    stage.kubectl(f"wait {BLOG} --for=condition=Ready {BLOG_KIND}/myblog {WAIT}")
    hosts = stage.kubectl(f"get ingress/myblog {BLOG} -o jsonpath={{.spec.rules[*].host}}")
    hold(hosts == "blog.example.com", f"the Ingress serves {hosts!r}")


def _image(stage: Stage) -> None:
    image = "registry.example.com/oss/nginx:1.27.0-alpine"
    _patch(stage, {"image": image})
    stage.kubectl(
        f"wait {WEB} --for=jsonpath={{.spec.template.spec.containers[0].image}}={image} deployment/web {WAIT}"
    )
    stage.kubectl(f"rollout status deployment/web {WEB} {WAIT}")
    _ready(stage, 3)


def _scale(stage: Stage) -> None:
    stage.kubectl(f"scale {WEB_KIND}/web {WEB} --replicas=5")
    _ready(stage, 5)


def _host(stage: Stage) -> None:
    _patch(stage, {"host": "web.example.com"})
    stage.kubectl(f"wait {WEB} --for=create ingress/web {WAIT}")
    stage.kubectl(f"wait {WEB} --for=jsonpath={{.status.url}}=http://web.example.com/ {WEB_KIND}/web {WAIT}")


def _no_host(stage: Stage) -> None:
    _patch(stage, {"host": None})
    stage.kubectl(f"wait {WEB} --for=delete ingress/web {WAIT}")


def _service(stage: Stage) -> None:
    before = stage.kubectl(f"get service/web {WEB} -o jsonpath={{.metadata.uid}}")
    stage.kubectl(f"delete service/web {WEB}")
    stage.kubectl(f"wait {WEB} --for=create service/web {WAIT}")
    after = stage.kubectl(f"get service/web {WEB} -o jsonpath={{.metadata.uid}}")
    hold(before != after, "the Service was never gone")


def _drift(stage: Stage) -> None:
    deployment = f"deployment/web {WEB}"
    before = int(stage.kubectl(f"get {deployment} -o jsonpath={{.metadata.generation}}"))
    stage.kubectl(f"set env {deployment} OOPS=1")
    stage.kubectl(f"wait {WEB} --for=jsonpath={{.metadata.generation}}={before + 2} deployment/web {WAIT}")
    env = stage.kubectl(f"get {deployment} -o jsonpath={{.spec.template.spec.containers[0].env}}")
    hold(not env, f"the container still has {env}")
    stage.kubectl(f"rollout status deployment/web {WEB} {WAIT}")


def _replay(stage: Stage) -> None:
    """Send it past the tap, so that it shows as what it is; without a curl, in the same words over a socket."""
    event = next(event for event, _ in reversed(stage.seen) if webapp(event) == "webapp-demo/web")
    url = stage.functions[DEFAULT_GROUP]
    if shutil.which("curl"):
        command = curl.command(event, url, report=True)
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        hold(not done.returncode, f"curl ended with {done.returncode}: {done.stderr.strip()}")
        told = answer.read(200, {}, done.stdout.encode(), 0.0)
    else:
        with Sender(url) as sender:
            told = sender.send(event)
    stage.keep(event, told)
    hold(
        told.outcome == "unchanged", f"{' of '.join(short(event))} ended as {told.outcome or 'an error'}: {told.detail}"
    )
    hold(not told.writes, f"it wrote: {', '.join(told.plan)}")


def _delete(stage: Stage) -> None:
    stage.cluster.kubectl("delete", "-f", "-", stdin="---\n".join([sample(DEFAULT_GROUP), sample(OTHER_GROUP)]))
    for namespace, name in ((WEB, "web"), (BLOG, "myblog")):
        stage.kubectl(f"wait {namespace} --for=delete deployment/{name} service/{name} ingress/{name} {WAIT}")
        left = stage.kubectl(f"get {CHILDREN} {namespace} -o name")
        hold(not left, f"still there: {left}")


def _history(stage: Stage) -> None:
    wanted = {answer.trace_id for _, answer in stage.seen if answer.trace_id and answer.outcome != Outcome.IGNORED}
    deadline = time.monotonic() + RECORDED_SECONDS
    while missing := wanted - set(stage.kubectl(f"get reconciles -A -o jsonpath={TRACES}").split()):
        hold(time.monotonic() < deadline, f"{len(missing)} of {len(wanted)} runs are not in the history")
        time.sleep(RECORDED_SECONDS / 50)


def _patch(stage: Stage, spec: dict[str, object]) -> None:
    stage.kubectl(f"patch {WEB_KIND}/web {WEB} --type=merge -p", json.dumps({"spec": spec}))


def _ready(stage: Stage, pods: int) -> None:
    stage.kubectl(f"wait {WEB} --for=jsonpath={{.status.readyReplicas}}={pods} {WEB_KIND}/web {WAIT}")
    stage.kubectl(f"wait {WEB} --for=condition=Ready {WEB_KIND}/web {WAIT}")
