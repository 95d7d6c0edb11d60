"""The WebApp operator as a kopf user would write it.

Async handlers on aiohttp, kopf's own HTTP library; indices of the children, so that an unchanged resume writes nothing;
kopf.adopt for ownership; status through kopf's own patch. Children are written by POST, or by a merge patch of the
fields that are ours.
"""

import asyncio
import base64
import ssl
from datetime import UTC, datetime

import aiohttp
import kopf

GROUP, VERSION, PLURAL = "platform.example.com", "v1", "webapps"
MANAGED = {"app.kubernetes.io/managed-by": "webapp-kopf"}
KINDS = {
    "Deployment": ("apps", "v1", "deployments"),
    "Service": ("", "v1", "services"),
    "Ingress": ("networking.k8s.io", "v1", "ingresses"),
}
HTTP: dict[str, aiohttp.ClientSession] = {}


@kopf.on.startup()
async def connect(settings, **_):
    """One session for all of the operator's own requests."""
    info = kopf.login_with_kubeconfig(settings=settings)
    HTTP["session"] = aiohttp.ClientSession(
        info.server,
        connector=aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authority(info))),
        headers={"Authorization": f"Bearer {info.token}"},
    )


def authority(info):
    """The certificate authority of a login as PEM text."""
    return base64.b64decode(info.ca_data).decode()


@kopf.on.login()
def login(**kwargs):
    return kopf.login_with_kubeconfig(**kwargs)


async def send(method, path, body):
    """Status and text of one answer."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    async with HTTP["session"].request(method, path, json=body, headers={"Content-Type": kind}) as response:
        return response.status, await response.text()


@kopf.index(*KINDS["Deployment"], labels=MANAGED)
def deployments(namespace, name, body, **_):
    return {(namespace, name): body}


@kopf.index(*KINDS["Service"], labels=MANAGED)
def services(namespace, name, body, **_):
    return {(namespace, name): body}


@kopf.index(*KINDS["Ingress"], labels=MANAGED)
def ingresses(namespace, name, body, **_):
    return {(namespace, name): body}


@kopf.index(GROUP, VERSION, PLURAL)
def webapps(namespace, name, body, **_):
    return {(namespace, name): body}


def desired(body):
    """The three children of a WebApp."""
    name, spec = body["metadata"]["name"], body["spec"]
    select = {"app": name}
    ports = [{"name": "http", "containerPort": spec["port"], "protocol": "TCP"}]
    container = {"name": "app", "image": spec["image"], "ports": ports}
    if env := [{"name": each["name"], "value": each.get("value", "")} for each in spec.get("env") or []]:
        container["env"] = env
    template = {"metadata": {"labels": select}, "spec": {"containers": [container]}}
    service_ports = [{"name": "http", "port": 80, "targetPort": spec["port"], "protocol": "TCP"}]
    backend = {"service": {"name": name, "port": {"name": "http"}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    specs = {
        "Deployment": {
            "replicas": spec.get("replicas", 1),
            "selector": {"matchLabels": select},
            "template": template,
        },
        "Service": {"type": "ClusterIP", "selector": select, "ports": service_ports},
        "Ingress": {"rules": [{"host": spec["host"], "http": {"paths": paths}}]},
    }
    labels = {**select, "app.kubernetes.io/name": name, **MANAGED}
    children = []
    for kind, (group, version, _) in KINDS.items():
        meta = {"name": name, "namespace": body["metadata"]["namespace"], "labels": dict(labels)}
        api = f"{group}/{version}" if group else version
        children.append({"apiVersion": api, "kind": kind, "metadata": meta, "spec": specs[kind]})
    kopf.adopt(children, owner=body)
    return children


def within(want, have):
    """Whether every field that is ours has the wanted value; server defaults are nobody's business."""
    if isinstance(want, dict):
        return hasattr(have, "get") and all(within(value, have.get(key)) for key, value in want.items())
    if isinstance(want, list):
        return isinstance(have, list) and len(want) == len(have) and all(map(within, want, have))
    return want == have


async def write(child, current):
    """Create or merge one child, unless it is as it should be."""
    group, version, plural = KINDS[child["kind"]]
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    path = f"{root}/namespaces/{child['metadata']['namespace']}/{plural}"
    if current is None:
        code, text = await send("POST", path, child)
        if code != 409:
            return check(code, text)
    elif within(child, current):
        return None
    return check(*await send("PATCH", f"{path}/{child['metadata']['name']}", child))


def check(code, text):
    """Raises for a refusal, so that kopf tries again."""
    if code >= 300:
        raise kopf.TemporaryError(f"{code}: {text[:200]}", delay=1)


def first(index, key):
    """The one object that an index holds under a key."""
    return next(iter(index.get(key, ())), None)


async def children(body, indices):
    """All three children at once."""
    key = (body["metadata"]["namespace"], body["metadata"]["name"])
    pairs = zip(desired(body), indices, strict=True)
    await asyncio.gather(*(write(child, first(index, key)) for child, index in pairs))


def status(body, ready):
    """The status for so many ready replicas."""
    want, generation = body["spec"].get("replicas", 1), body["metadata"]["generation"]
    conditions = (body.get("status") or {}).get("conditions") or []
    old: dict[str, str] = next((each for each in conditions if each["type"] == "Ready"), {})
    state = "True" if ready >= want else "False"
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {
        "type": "Ready",
        "status": state,
        "reason": "Reconciled" if state == "True" else "Progressing",
        "message": f"{ready} of {want} replicas ready",
        "lastTransitionTime": old["lastTransitionTime"] if old.get("status") == state else now,
        "observedGeneration": generation,
    }
    return {"observedGeneration": generation, "readyReplicas": ready, "conditions": [condition]}


def ready_replicas(deployment):
    return ((deployment or {}).get("status") or {}).get("readyReplicas", 0)


@kopf.on.create(GROUP, VERSION, PLURAL)
@kopf.on.update(GROUP, VERSION, PLURAL)
@kopf.on.resume(GROUP, VERSION, PLURAL)
async def reconcile(body, patch, namespace, name, deployments, services, ingresses, **_):
    await children(body, (deployments, services, ingresses))
    new = status(body, ready_replicas(first(deployments, (namespace, name))))
    if not within(new, body.get("status")):
        patch.status.update(new)


@kopf.on.event(*KINDS["Deployment"], labels=MANAGED)
@kopf.on.event(*KINDS["Service"], labels=MANAGED)
@kopf.on.event(*KINDS["Ingress"], labels=MANAGED)
async def child_changed(event, namespace, name, body, webapps, deployments, services, ingresses, **_):
    """A child was deleted: put it back. A Deployment's ready count moved: tell it."""
    parent = first(webapps, (namespace, name))
    if parent is None or parent["metadata"].get("deletionTimestamp"):
        return
    if event["type"] == "DELETED":
        await children(parent, (deployments, services, ingresses))
    elif body["kind"] == "Deployment":
        ready, have = ready_replicas(body), parent.get("status") or {}
        if have and have.get("readyReplicas") != ready:
            path = f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}/{name}/status"
            check(*await send("PATCH", path, {"status": status(parent, ready)}))
