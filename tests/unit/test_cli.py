"""The command line as a whole: what it is called, what it imports, what it prints where."""

import json
import re
import subprocess
import sys
from importlib.metadata import version

import pytest
import yaml

from functions.webapp.crd import crd
from tests.command import runner

HEAVY = {"kubernetes", "cryptography", "flask", "gunicorn", "opentelemetry", "urllib3", "cloudevents", "sqlalchemy"}
COMMANDS = {"cluster", "crd", "curl", "demo", "dev", "history", "lint", "list", "new", "record", "replay", "resend"}


@pytest.fixture
def run(capfd):
    return runner(capfd)


def test_version_is_the_package_s(run):
    assert run("--version").out == f"webapp {version('webapp-operator')}\n"


def test_help_names_every_command(run):
    for option in ("--help", "-h"):
        done = run(option)
        assert done.code == 0
        assert all(f" {command} " in done.out for command in COMMANDS)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_explains_itself(run, command):
    done = run(command, "--help")
    assert done.code == 0
    assert "None" not in done.out


def test_crd_is_printed_for_any_group(run):
    assert yaml.safe_load(run("crd", "--group", "mycompany.com").out) == crd("mycompany.com")
    assert yaml.safe_load(run("crd").out) == crd("platform.example.com")


def test_group_may_come_from_the_environment(run, monkeypatch):
    monkeypatch.setenv("WEBAPP_API_GROUP", "mycompany.com")
    assert run("new", "webapp.added", "--name", "web").json["type"] == "com.mycompany.webapp.added.v1"


def test_group_that_is_none_is_called_wrongly(run):
    for group in ("Bad Group", "nodot", "Upper.example.com"):
        done = run("crd", "--group", group)
        assert (done.code, done.out) == (2, "")
        assert "is not an API group" in re.sub(r"[\s│]+", " ", done.err)


def test_unknown_command_is_called_wrongly(run):
    assert run("reconcile").code == 2


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["crd", "--help"], ["history", "a"]])
def test_nothing_heavy_is_imported_before_it_is_needed(arguments):
    script = (
        "import json, sys\nfrom functions import cli\n"
        f"cli.main({arguments!r})\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("key", ["web", "shop/", "/web", "shop/web/1"])
def test_history_of_what_is_no_webapp_is_refused(run, key):
    done = run("history", key)
    assert (done.code, done.out) == (1, "")
    assert "is named as NAMESPACE/NAME" in done.err


@pytest.mark.parametrize(
    ("database", "told"),
    [
        ("mysql://db/history", "HISTORY_DATABASE_URL: must be such as"),
        ("sqlite:////nowhere/history.db", "there is no such file"),
        ("postgresql://nobody@127.0.0.1:1/history", "the database of the history is away"),
    ],
)
def test_history_out_of_a_database_that_cannot_be_read_says_why(run, database, told):
    done = run("history", "shop/web", "--database", database)
    assert (done.code, done.out) == (1, "")
    assert told in done.err


def test_event_tools_need_neither_kubernetes_nor_flask():
    script = (
        "import json, sys\nfrom functions import cli\n"
        "cli.main(['new', 'webapp.added', '--name', 'web'])\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stderr)}
    assert loaded & {"kubernetes", "cryptography", "flask", "gunicorn", "opentelemetry", "urllib3"} == set()
