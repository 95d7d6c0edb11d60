"""The README does what it says: its commands run, its make targets exist, its deployment names the reader's image."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

from functions.dev.toolchain import Toolchain
from functions.dev.workbench import Workbench
from tests import docs

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
_MAKE = re.compile(r"(?:`|^|\$ )make ([a-z][a-z-]*)", re.MULTILINE)


def test_replay_with_curl_works_and_prints_what_the_readme_says(cluster, tmp_path):
    programs = [str(Path(sys.executable).parent), str(Toolchain.from_environment().find("kubectl").parent)]
    settings = {"WEBAPP_NAMESPACES": "shop", "BRIDGE_LEASE_NAME": "webapp-bridge-readme"}
    with Workbench(nullcontext(cluster), settings=settings) as bench:
        environ = {
            **os.environ,
            "PATH": os.pathsep.join([*programs, os.environ["PATH"]]),
            "KUBECONFIG": str(bench.cluster.kubeconfig),
            "KUBECACHEDIR": str(tmp_path),  # other tests serve other groups
            "FUNCTION": bench.url,
            "EVENTS": str(bench.recording),
        }
        try:
            assert docs.run(README, environ, ROOT) == 1
        finally:
            cluster.kubectl("delete", "namespace", "shop", "--ignore-not-found")


def test_every_make_target_that_the_pages_name_exists():
    pages = [README, *ROOT.glob("docs/*.md"), ROOT / "CONTRIBUTING.md"]
    named = {target for page in pages for target in _MAKE.findall(page.read_text())}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert named <= targets
    assert {"demo", "test", "dev"} <= named


def test_deployment_names_the_readers_image_everywhere(tmp_path):
    [deploy] = [block.text.splitlines() for block in docs.blocks(README) if block.tag == "bash"]
    name = next(line for line in deploy if line.startswith("sed"))
    shutil.copytree(ROOT / "knative", tmp_path / "knative")
    subprocess.run(["bash", "-euc", name], cwd=tmp_path, check=True)
    kubectl = Toolchain.from_environment().find("kubectl")
    built = subprocess.run([kubectl, "kustomize", tmp_path / "knative"], check=True, capture_output=True, text=True)
    images = set(re.findall(r"\bimage: (\S+)", built.stdout))
    assert images
    assert all(image.startswith("registry.example.com/team/webapp-operator:") for image in images)
