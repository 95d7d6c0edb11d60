"""What is shipped for a cluster says the same as the code and the page."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from functions.authn.settings import Settings

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "knative" / "extensions" / "authn"
CODE = (ROOT / "functions" / "authn" / "settings.py").read_text()
PAGE = (ROOT / "docs" / "authn.md").read_text()
RATES = {f"AUTHN_{who}_{what}" for who in ("KNOWN", "STRANGER") for what in ("RATE", "BURST")}
KNOWN = set(re.findall(r'"(AUTHN_[A-Z_]+)"', CODE)) | RATES


def test_page_lists_every_variable_and_no_other():
    assert set(re.findall(r"AUTHN_[A-Z_]+", PAGE)) == KNOWN


@pytest.mark.parametrize("path", sorted(SHIPPED.rglob("*.*")), ids=lambda path: path.name)
def test_manifest_names_variables_that_exist(path):
    assert set(re.findall(r"AUTHN_[A-Z_]+", path.read_text())) <= KNOWN


def environment(container, extra=()):
    return {entry["name"]: entry["value"] for entry in container["env"]} | dict(extra)


def test_shipped_settings_are_read():
    (pod,) = yaml.safe_load_all((SHIPPED / "static-pod" / "webapp-authn.yaml").read_text())
    static = Settings.load(environment(pod["spec"]["containers"][0]))
    documents = yaml.safe_load_all((SHIPPED / "base" / "deployment.yaml").read_text())
    (deployment,) = [each for each in documents if each["kind"] == "Deployment"]
    lines = (SHIPPED / "base" / "settings.env").read_text().splitlines()
    written = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    template = deployment["spec"]["template"]["spec"]
    deployed = Settings.load(environment(template["containers"][0], written.items()))
    providers = [replace(each.provider, secret=None) for each in (static, deployed)]
    assert providers[0] == providers[1]
    assert replace(static, provider=deployed.provider) == deployed


def test_grace_of_the_pods_covers_the_drain():
    text = (SHIPPED / "base" / "deployment.yaml").read_text() + (
        SHIPPED / "static-pod" / "webapp-authn.yaml"
    ).read_text()
    assert [int(each) >= 40 for each in re.findall(r"terminationGracePeriodSeconds: (\d+)", text)] == [True, True]
