"""The shipped roles: each ServiceAccount can do its work, and nothing beside it."""

import pytest

from functions.dev.cluster import KubectlError

OURS = {"webapps.platform.example.com", "deployments.apps", "services", "ingresses.networking.k8s.io"}
EVERYBODY = {"selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"}


def granted(cluster, user, namespace):
    """What the authorizer grants a ServiceAccount of ours in a namespace: resource (and name) -> verbs."""
    listing = cluster.kubectl(
        *("auth", "can-i", "--list", "--no-headers", "-n", namespace),
        *(f"--as=system:serviceaccount:webapp-system:{user}", "--as-group=system:serviceaccounts"),
        *("--as-group=system:authenticated",),
    )
    grants = {}
    for line in listing.splitlines():
        resource, *_ = line.split()
        if line[0] == " " or resource.partition(".")[0] in EVERYBODY:  # URLs, and what every user may ask about itself
            continue
        urls, names, verbs = (part.split("]")[0] for part in line.split("[")[1:])
        assert not urls
        grants[f"{resource}/{names}" if names else resource] = set(verbs.split())
    return grants


def test_bridge_reads_and_never_writes_outside_its_namespace(cluster, namespace):
    reading = {resource: {"list", "watch"} for resource in OURS}
    assert granted(cluster, "webapp-bridge", namespace) == {**reading, "namespaces/kube-system": {"get"}}


def test_bridge_writes_leases_in_its_own_namespace(cluster):
    assert granted(cluster, "webapp-bridge", "webapp-system")["leases.coordination.k8s.io"] == {
        "get",
        "create",
        "update",
    }


def test_reconciler_writes_children_and_status_alone(cluster, namespace):
    assert granted(cluster, "webapp-reconciler", namespace) == {
        "webapps.platform.example.com": {"get"},
        "webapps.platform.example.com/status": {"update"},
        "webapps.platform.example.com/finalizers": {"update"},
        "events.events.k8s.io": {"create"},
        "deployments.apps": {"get", "create", "patch"},
        "services": {"get", "create", "patch"},
        "ingresses.networking.k8s.io": {"get", "create", "patch", "delete"},
    }


@pytest.mark.parametrize(
    ("role", "verb", "resource", "answer"),
    [
        ("view", "list", "webapps", True),
        ("view", "create", "webapps", False),
        ("view", "update", "webapps/scale", False),
        ("edit", "watch", "webapps", True),
        ("edit", "patch", "webapps", True),
        ("edit", "patch", "webapps/scale", True),
        ("edit", "update", "webapps/status", False),
        ("admin", "delete", "webapps", True),
        ("admin", "update", "webapps/status", False),
    ],
)
def test_ordinary_roles_hold_webapps(cluster, namespace, role, verb, resource, answer):
    cluster.kubectl("create", "rolebinding", "team", f"--clusterrole={role}", "--user=ann", "-n", namespace)
    for _ in range(100):  # the authorizer learns of the binding by a watch
        if may(cluster, namespace, "list", "pods"):
            break
    assert may(cluster, namespace, verb, resource) is answer


def may(cluster, namespace, verb, resource):
    """Whether the authorizer lets ann do it."""
    resource, _, subresource = resource.partition("/")
    resource = f"{resource}.platform.example.com" if resource == "webapps" else resource
    options = (f"--subresource={subresource}",) if subresource else ()
    try:
        return cluster.kubectl("auth", "can-i", verb, resource, "-n", namespace, "--as=ann", *options) == "yes\n"
    except KubectlError as refusal:  # kubectl says no by its exit code as well
        if not str(refusal).endswith(": no"):
            raise
        return False
