# Every target is one command that also works by hand. `make install` is all the set-up there is.
PYTHON ?= python3
BIN := .venv/bin
.PHONY: install parts test-parts fmt check test unit demo dev cluster bench bench-peers e2e screenshot authn-story generate lock image image-test clean

install: .venv/installed  ## the virtual environment, from pinned and hashed packages

.venv/installed: requirements/dev.txt pyproject.toml
	@echo "== setting up .venv (about half a minute)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

parts: install  ## etcd, kube-apiserver and the rest of a control plane, built once from Go modules
	$(BIN)/python -m functions.dev

test-parts: install  ## those, and Jaeger, Hydra and Knative's webhooks
	$(BIN)/python -m functions.dev all

fmt: install  ## format and fix what can be fixed
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

check: install  ## format, lint, types, layers, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m functions.dev.generate --check

test: check test-parts  ## everything, on a real control plane
	$(BIN)/pytest $(ARGS)

unit: install  ## the pure modules alone, in seconds
	$(BIN)/pytest tests/unit $(ARGS)

demo: parts  ## a tour in a minute
	$(BIN)/webapp demo

dev: parts  ## the whole operator on this machine until Ctrl-C
	$(BIN)/webapp dev

cluster: parts  ## a control plane alone until Ctrl-C
	$(BIN)/webapp cluster

bench: parts  ## how fast, how many requests, how much memory
	$(BIN)/python -m tests.bench $(ARGS)

bench-peers: parts  ## the same beside a Go and a kopf twin
	$(BIN)/python -m tests.bench --peers $(ARGS)

e2e: install  ## the whole product on the cluster with Knative that KUBECONFIG names
	$(BIN)/python -m tests.e2e $(ARGS)

screenshot: parts  ## docs/trace.png, the picture in the README
	$(BIN)/python -m tests.screenshot

authn-story: test-parts  ## docs/authn-outage.svg: an identity provider's outage, with a naive webhook and with ours
	$(BIN)/python -m tests.authn.story

generate: install  ## write the CRD and everything else that is made from code
	$(BIN)/python -m functions.dev.generate

lock: install  ## pin the newest packages that fit pyproject.toml
	$(BIN)/python -m functions.dev.lock

image:  ## the container image, with docker or podman
	$$(command -v docker || command -v podman) build --tag webapp-operator .

image-test: install  ## that image, run as strictly as a pod, against a real control plane (podman)
	$(BIN)/python -m tests.e2e image

clean:  ## remove what the targets made, but not the built control plane
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist
