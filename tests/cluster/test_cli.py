"""The command line against the real operator: record, replay, resend, demo, dev."""

import json
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from functions.dev.operator import Operator
from functions.dev.processes import LOOPBACK, ProcessGroup, free_port
from functions.webapp.resources import DEPLOYMENT, OWNED, meta_text
from tests.cluster.admin import WEBAPP, Admin, until
from tests.cluster.conftest import new_namespace
from tests.cluster.sender import RECONCILER
from tests.command import runner
from tests.process_table import group_is_gone
from tests.recorded import settle

COMMAND = [sys.executable, "-c", "import sys; from functions.cli import main; sys.exit(main())"]
EDITS = [
    {"image": "nginx:2"},
    {"replicas": 2},
    {"host": None},
    {"image": "nginx:3", "env": [{"name": "A", "value": "b"}]},
]


@dataclass
class Shop:
    """An operator for one namespace, with `webapp record` between bridge and function."""

    admin: Admin
    namespace: str
    operator: Operator
    processes: ProcessGroup
    settings: dict[str, str]
    url: str
    recording: Path

    def create(self, name, spec):
        head = {"apiVersion": WEBAPP.api_version, "kind": WEBAPP.kind}
        return self.admin.create(
            WEBAPP, {**head, "metadata": {"name": name, "namespace": self.namespace}, "spec": spec}
        )

    def children(self):
        return {each.kind: self.admin.find(each, self.namespace, "web") for each in OWNED}

    def versions(self):
        found = [self.admin.get(WEBAPP, self.namespace, "web"), *self.children().values()]
        return [meta_text(each, "resourceVersion") for each in found if each]

    def deployed(self):
        """Whether the rollout of the newest spec is over: then nothing moves by itself any more."""
        found = self.admin.get(WEBAPP, self.namespace, "web")
        told = {each["type"]: each for each in found.get("status", {}).get("conditions", [])}
        current = all(each["observedGeneration"] == found["metadata"]["generation"] for each in told.values())
        return current and told and (told["Ready"]["status"], told["Progressing"]["status"]) == ("True", "False")


@pytest.fixture
def run(capfd):
    return runner(capfd)


@pytest.fixture(scope="module")
def shop(cluster, admin):
    """With a history: a WebApp that was created, edited four times, and whose Service was deleted by hand."""
    with new_namespace(admin) as name, ProcessGroup() as processes:
        settings = {"WEBAPP_NAMESPACES": name, "BRIDGE_LEASE_NAME": f"bridge-{name}"}
        operator, port = Operator(cluster, processes), free_port()
        url, recording = operator.start_function(settings), processes.folder / "events.jsonl"
        words = ["record", "--listen", str(port), "--to", url, "--out", str(recording)]
        recorder = processes.start("record", [*COMMAND, *words])
        recorder.wait_until(lambda: "listening on" in recorder.tail())
        operator.start_bridge(f"http://{LOOPBACK}:{port}/", settings)
        found = Shop(admin, name, operator, processes, settings, url, recording)
        spec = {"image": "nginx:1", "replicas": 1, "host": "web.example.com"}
        found.create("web", spec)
        until(found.deployed)
        for edit in EDITS:
            admin.merge(WEBAPP, name, "web", {"spec": edit})
            until(found.deployed)
        before = found.children()["Service"]
        admin.delete(OWNED[1], name, "web")
        until(lambda: (found.children()["Service"] or before) != before)
        settle(recording)
        processes["bridge"].stop()
        assert recorder.returncode is None
        recorder.signal(signal.SIGINT)
        assert recorder.wait(5) == 0
        yield found


def test_recording_is_valid_to_the_last_attribute(run, shop):
    done = run("lint", shop.recording, "--strict", "-o", "json")
    assert done.json["findings"] == []
    assert done.json["events"] == len(shop.recording.read_text().splitlines())
    assert done.json["events"] >= len(EDITS) + 2


def test_replay_twice_writes_nothing(run, shop, cluster):
    since, before = cluster.mark(), shop.versions()
    done = run("replay", shop.recording, "--to", shop.url, "--twice", "-o", "json")
    assert (done.code, done.json["problems"]) == (0, [])
    assert done.json["totals"]["writes"] == done.json["totals"]["failed"] == 0
    assert {row["outcome"] for row in done.json["events"]} == {"unchanged"}
    assert shop.versions() == before
    assert done.json["totals"]["api_calls"] == len(cluster.audit(RECONCILER, since))


def test_replay_in_any_order_writes_nothing(run, shop):
    before = shop.versions()
    for seed in (1, 2, 3):
        done = run("replay", shop.recording, "--to", shop.url, "--twice", "--shuffle", f"--seed={seed}", "-o", "json")
        assert (done.code, done.json["totals"]["writes"]) == (0, 0)
    assert shop.versions() == before


def test_expectation_holds_and_a_difference_fails(run, shop, tmp_path):
    want = tmp_path / "want.json"
    want.write_text(run("replay", shop.recording, "--to", shop.url, "-o", "json").out)
    assert run("replay", shop.recording, "--to", shop.url, "--shuffle", "--expect", want).code == 0
    told = json.loads(want.read_text())
    told["events"][0]["outcome"] = "created"
    want.write_text(json.dumps(told))
    done = run("replay", shop.recording, "--to", shop.url, "--expect", want)
    assert done.code == 1
    assert "outcome is 'unchanged', expected 'created'" in done.err


def test_dry_run_tells_the_plan_and_old_events_then_carry_it_out(run, shop):
    shop.admin.merge(WEBAPP, shop.namespace, "web", {"spec": {"image": "nginx:4"}})
    before = shop.versions()
    ours = ["--filter", "type=webapp.*"]
    dry = run("replay", shop.recording, "--to", shop.url, *ours, "--dry-run", "-o", "json").json
    assert "patch Deployment" in dry["events"][0]["plan"]
    assert shop.versions() == before
    done = run("replay", shop.recording, "--to", shop.url, *ours, "-o", "json")
    assert (done.code, done.json["events"][0]["outcome"]) == (0, "updated")
    deployment = shop.admin.get(DEPLOYMENT, shop.namespace, "web")
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:4"
    until(lambda: run("replay", shop.recording, "--to", shop.url, "--twice").code == 0)  # once the pods are there


def test_made_event_reaches_whichever_webapp_has_the_name(run, shop, tmp_path):
    made = tmp_path / "event.json"
    made.write_text(run("new", "webapp.sync", "--name", "web", "-n", shop.namespace).out)
    assert run("replay", made, "--to", shop.url, "-o", "json").json["events"][0]["outcome"] == "unchanged"
    command = run("curl", made, "--to", shop.url, "--report", "--binary").out
    told = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    assert json.loads(told)["outcome"] == "unchanged"


def test_parked_event_is_sent_again(run, shop):
    refusing = f"{shop.url}health/liveness"  # answers a POST with 405: never send this again
    parked = shop.processes.folder / "parked.jsonl"
    shop.operator.start_bridge(refusing, shop.settings)
    made = shop.create("poison", {"image": "nginx"})
    until(lambda: parked.exists() and '"poison"' in parked.read_text())
    shop.processes["bridge"].stop()
    lines = [json.loads(line) for line in parked.read_text().splitlines()]
    mine = next(line for line in lines if line["webapp"] == "poison")
    assert mine["knativeerrorcode"] == 405
    done = run("resend", mine["id"], "--parked", parked, "--to", shop.url, "-o", "json")
    [row] = done.json["events"]
    assert (done.code, row["id"], row["outcome"]) == (0, mine["id"], "created")
    assert meta_text(shop.admin.get(DEPLOYMENT, shop.namespace, "poison"), "name") == "poison"
    assert mine["webappuid"] == meta_text(made, "uid")


def test_demo_holds_every_step_and_counts_as_the_audit_log_does(run):
    done = run("demo", "--output", "json")
    told = done.json
    assert [(step["title"], step["failure"]) for step in told["steps"] if step["failure"]] == []
    assert done.code == 0
    assert len(told["steps"]) == 11
    assert told["totals"]["events"] == len(told["events"])
    assert told["totals"]["api_calls"] == sum(event["api_calls"] for event in told["events"])
    assert told["totals"]["writes"] == sum(event["writes"] for event in told["events"]) > 0
    first = told["events"][0]
    assert (first["outcome"], first["api_calls"], first["writes"]) == ("created", 4, 3)
    assert {event["type"].split(".")[1] for event in told["events"]} == {"example", "mycompany"}
    replay = next(step for step in told["steps"] if "curl" in step["title"])
    assert (replay["events"], replay["writes"]) == (1, 0)


def test_dev_runs_everything_until_ctrl_c_and_leaves_nothing(cluster):
    words = ["dev", "--kubeconfig", str(cluster.kubeconfig)]
    with subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as dev:
        assert dev.stdout
        printed = ""
        for line in dev.stdout:
            printed += line
            if "leading" in line:
                break
        function = re.search(r"FUNCTION=(\S+)", printed)
        events = re.search(r"EVENTS=(\S+)", printed)
        assert function
        assert events
        folder = Path(events[1]).parent
        assert folder.is_dir()
        assert f"KUBECONFIG={cluster.kubeconfig}" in printed
        dev.send_signal(signal.SIGINT)
        rest = dev.stdout.read()
    assert dev.returncode == 0
    assert "everything that was started has ended" in rest
    assert group_is_gone(folder)
