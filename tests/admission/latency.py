"""How long the API server waits for each admission step at a steady rate: `python -m tests.admission.latency`."""

import argparse

import yaml

from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup
from tests.admission import metrics
from tests.admission.load import Load
from tests.admission.rig import MANIFESTS, Webhooks
from tests.cluster.admin import NAMESPACE, Admin

WEBHOOK = "apiserver_admission_webhook_admission_duration_seconds"
PLUGIN = "apiserver_admission_controller_admission_duration_seconds"
"""A policy's own metric counts denials only; this one has every create, of which nearly all are the load's."""

STEPS = {
    "sidecar (mutating webhook)": (WEBHOOK, {"name": "sidecar.platform.example.com"}),
    "guard (validating webhook)": (WEBHOOK, {"name": "guard.platform.example.com"}),
    "the same rule as a ValidatingAdmissionPolicy": (
        PLUGIN,
        {"name": "ValidatingAdmissionPolicy", "operation": "CREATE", "type": "validate"},
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=50, help="Pods a second")
    parser.add_argument("--count", type=int, default=1500, help="Pods in all")
    options = parser.parse_args()
    with ControlPlane() as cluster, ProcessGroup() as group:
        cluster.install()
        with Webhooks(cluster, group, replicas=2):
            cluster.apply(list(yaml.safe_load_all((MANIFESTS / "policy" / "policy.yaml").read_text())))
            Admin(cluster.kubeconfig).create(
                NAMESPACE, {"metadata": {"name": "load", "labels": {"sidecar-injection": "enabled"}}}
            )
            measure(cluster, options.rate, options.count)


def measure(cluster, rate, count):
    """Warm up, then print what the API server counted."""
    with Load(cluster, "load", rate) as load:
        load.go_on(rate * 2)
        before = {step: metrics.histogram(cluster, metric, **labels) for step, (metric, labels) in STEPS.items()}
        load.go_on(count)
        for step, (metric, labels) in STEPS.items():
            spent = metrics.histogram(cluster, metric, **labels).since(before[step])
            p50, p99 = spent.quantile(0.5) * 1000, spent.quantile(0.99) * 1000
            print(f"{step:46} {spent.count:6} calls  p50 {p50:6.2f} ms  p99 {p99:6.2f} ms")
    print(f"{load.created} created, {len(load.failures)} failed {sorted(set(load.failures))[:3]}")


if __name__ == "__main__":
    main()
