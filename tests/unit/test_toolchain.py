"""The toolchain's search order, with a scripted `go` in place of minutes of building."""

import threading
from pathlib import Path

import pytest

from functions.dev.build import ToolchainError
from functions.dev.toolchain import PARTS, Toolchain

GO = """#!/bin/sh
# go -C SOURCE list -m [-f FORMAT MODULE] | go -C SOURCE build -trimpath -o FOLDER/ -ldflags FLAGS tool
home=$(dirname "$0")/..
if [ "$3" = list ]; then
  [ ! -e "$home/too-old" ] || { echo "go: go.mod requires go >= 1.26.0 (running go 1.25.1)" >&2; exit 1; }
  [ "$5" != -f ] || echo "$home/module"
  exit 0
fi
echo "$(basename "$2") $CGO_ENABLED $8" >> "$home/builds"
mkdir -p "$6"
[ ! -e "$home/fails" ] || { echo half > "$6/kwok"; echo "kwok.go:1: syntax error"; exit 1; }
all="kube-apiserver kube-controller-manager kube-scheduler kubectl server kwok jaeger"
for name in $all; do echo built > "$6/$name"; done
"""
SYSTEM_PATH = "/usr/bin:/bin"


class Bench:
    """A toolchain on empty folders and a `go` that takes down what it is asked to build."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.go = root / "bin" / "go"
        self.go.parent.mkdir()
        self.go.write_text(GO)
        self.go.chmod(0o755)
        self.modules = root / "modules"
        for part in PARTS:
            (self.modules / part.name).mkdir(parents=True)
            (self.modules / part.name / "go.mod").write_text(f"module parts\n\nrequire {part.module} v1.40.2\n")
            (self.modules / part.name / "go.sum").touch()
            for original in part.copies:
                (root / "module" / original).parent.mkdir(parents=True, exist_ok=True)
                (root / "module" / original).write_text(f"# {original}")
        self.toolchain = Toolchain(cache=root / "cache", modules=self.modules)

    def with_assets(self, *names: str) -> Toolchain:
        """The same toolchain besides a folder of programs."""
        (self.root / "assets").mkdir()
        for name in names:
            (self.root / "assets" / name).touch()
        return Toolchain(cache=self.toolchain.cache, assets=self.root / "assets", modules=self.modules)

    @property
    def builds(self) -> list[str]:
        """One line for each build: module, CGO_ENABLED, linker flags."""
        path = self.root / "builds"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(tmp_path)
    monkeypatch.setenv("PATH", f"{bench.go.parent}:{SYSTEM_PATH}")
    return bench


@pytest.fixture
def without_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))


def test_program_in_the_assets_folder_comes_first(bench):
    bench.toolchain.find("etcd")
    toolchain = bench.with_assets("etcd")
    assert toolchain.find("etcd") == bench.root / "assets" / "etcd"


def test_program_missing_from_the_assets_folder_is_built(bench):
    toolchain = bench.with_assets("etcd", "kube-apiserver", "kubectl")
    assert toolchain.find("kube-controller-manager").read_text() == "built\n"
    assert [line.split()[0] for line in bench.builds] == ["kubernetes"]


def test_earlier_build_is_used_without_go(bench, monkeypatch):
    built = bench.toolchain.find("etcd")
    monkeypatch.setenv("PATH", "")
    assert bench.toolchain.find("etcd") == built
    assert len(bench.builds) == 1


def test_one_build_gives_all_programs_of_a_module(bench):
    folders = {bench.toolchain.find(name).parent for name in ("kube-apiserver", "kube-scheduler", "kubectl")}
    assert len(folders) == 1
    assert len(bench.builds) == 1


@pytest.mark.parametrize("pins", ["go.mod", "go.sum"])
def test_changed_pin_is_built_anew(bench, pins):
    before = bench.toolchain.find("etcd")
    with (bench.modules / "etcd" / pins).open("a") as file:
        file.write("// another version\n")
    after = bench.toolchain.find("etcd")
    assert before != after
    assert before.exists()
    assert len(bench.builds) == 2


def test_kubernetes_is_told_the_version_that_go_mod_pins(bench):
    bench.toolchain.find("kubectl")
    package = "k8s.io/component-base/version"
    flags = f"-s -w -X {package}.gitVersion=v1.40.2 -X {package}.gitMajor=1 -X {package}.gitMinor=40"
    assert bench.builds == [f"kubernetes 0 {flags}"]


def test_stages_of_kwok_are_copied_beside_it(bench):
    stages = bench.toolchain.find("stages")
    assert stages.parent == bench.toolchain.find("kwok").parent
    assert sorted(path.name for path in stages.iterdir()) == [
        "node-heartbeat.yaml",
        "node-initialize.yaml",
        "pod-complete.yaml",
        "pod-delete.yaml",
        "pod-ready.yaml",
    ]
    assert (stages / "pod-ready.yaml").read_text() == "# kustomize/stage/pod/fast/pod-ready.yaml"


def test_failed_build_is_never_taken_for_a_whole_one(bench):
    (bench.root / "fails").touch()
    with pytest.raises(ToolchainError, match=r"kwok\.go:1: syntax error"):
        bench.toolchain.find("kwok")
    (bench.root / "fails").unlink()
    assert bench.toolchain.find("kwok").read_text() == "built\n"
    assert len(bench.builds) == 2


def test_leftovers_of_a_killed_build_do_not_reach_the_next(bench):
    leftover = bench.toolchain.cache / "etcd" / "unfinished" / "leftover"
    leftover.parent.mkdir(parents=True)
    leftover.touch()
    assert "leftover" not in [path.name for path in bench.toolchain.find("etcd").parent.iterdir()]


def test_concurrent_callers_build_once(bench):
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(bench.toolchain.find("etcd"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
    assert len(bench.builds) == 1


def test_progress_names_part_and_expectation(bench, capfd):
    bench.toolchain.find("etcd")
    bench.toolchain.find("etcd")
    told = capfd.readouterr().err.splitlines()
    assert told[0] == "building etcd (about 1 min the first time)"
    assert told[1].startswith("built etcd in ")
    assert len(told) == 2


def test_missing_go_names_the_three_cures(bench, without_go):
    with pytest.raises(ToolchainError) as caught:
        bench.toolchain.find("kube-apiserver")
    message = str(caught.value)
    assert "cannot build kubernetes (kube-apiserver, kube-controller-manager, kube-scheduler, kubectl)" in message
    assert "there is no Go on PATH" in message
    for cure in ("install Go 1.26", "set KUBEBUILDER_ASSETS", "set KUBECONFIG"):
        assert cure in message


def test_go_too_old_says_so_and_names_the_three_cures(bench):
    (bench.root / "too-old").touch()
    with pytest.raises(ToolchainError) as caught:
        bench.toolchain.find("etcd")
    message = str(caught.value)
    assert "go.mod requires go >= 1.26.0 (running go 1.25.1)" in message
    for cure in ("install Go 1.26", "set KUBEBUILDER_ASSETS", "set KUBECONFIG"):
        assert cure in message
    assert bench.builds == []


def test_unknown_program_is_named(bench):
    with pytest.raises(
        ToolchainError, match=r"no part provides 'kubelet': known are etcd, .*hydra, jaeger, kube-apiserver"
    ):
        bench.toolchain.find("kubelet")


def test_environment_names_assets_and_cache(tmp_path):
    environ = {"KUBEBUILDER_ASSETS": str(tmp_path), "WEBAPP_CACHE": "/var/cache/webapp"}
    toolchain = Toolchain.from_environment(environ)
    assert toolchain.assets == tmp_path
    assert toolchain.cache == Path("/var/cache/webapp/parts")


def test_checkout_keeps_builds_in_its_own_cache():
    toolchain = Toolchain.from_environment({"XDG_CACHE_HOME": "/elsewhere"})
    assert toolchain.cache == Path(__file__).parents[2] / ".cache" / "parts"
    assert toolchain.assets is None


def test_assets_that_are_no_folder_are_refused(tmp_path):
    with pytest.raises(ToolchainError, match=f"KUBEBUILDER_ASSETS: {tmp_path / 'gone'} is not a folder"):
        Toolchain.from_environment({"KUBEBUILDER_ASSETS": str(tmp_path / "gone")})
