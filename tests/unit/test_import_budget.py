"""What a cold start of the reconcile function may load: three frameworks, and beside them next to nothing.

tests/cluster/test_import_budget.py asks the processes of a cluster, once they have reconciled something.
"""

import gc
import json
import subprocess
import sys

from flask import Flask

from functions.runtime.server import Application, Served

FUNCTION = "functions.reconcile.process, functions.runtime.drain"
FRAMEWORKS = "flask, gc, gunicorn.app.base, gunicorn.glogging, gunicorn.workers.gthread, pydantic.types"

UNWANTED = {
    "asyncio",
    "functions.runtime.recorded",
    "functions.webapp.crd",
    "functions.webapp.status_model",  # for the CRD alone: building a model takes a millisecond
    "multiprocessing",
    "opentelemetry.sdk",
    "unittest",
}
"""Modules of packages that are there anyway; other packages are unwanted unless they are named below."""


def loaded(modules: str) -> set[str]:
    """What is in a fresh interpreter after these imports."""
    code = f"import json, sys, {modules}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def packages(modules: set[str]) -> set[str]:
    found = {name.partition(".")[0] for name in modules}
    return {name for name in found if "cython" not in name}  # what compiled modules bring along


def test_the_function_loads_no_module_that_it_can_do_without():
    assert not UNWANTED & loaded(FUNCTION)


def test_the_function_loads_no_library_beside_the_frameworks_but_these():
    assert packages(loaded(FUNCTION)) - packages(loaded(FRAMEWORKS)) == {
        "cloudevents",
        "functions",
        "httptools",
        "opentelemetry",
    }


def test_the_collector_runs_in_the_worker_though_its_parent_goes_without():
    gc.disable()
    try:
        Application(lambda: Served(Flask("x"), lambda: None), {}).load()
        assert gc.isenabled()
    finally:
        gc.enable()
