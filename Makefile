# The verbs of this project. Each one sets up what it needs; `make -C /path/to/checkout demo` works from any folder.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Extra arguments for pytest, as in: make test ARGS='tests/core -x'
ARGS ?=
# How many test files run side by side; `make test JOBS=0` runs them one after the other in one process.
JOBS ?= auto

# What an installed environment depends on. The stamp carries its checksum: as long as it stands, nothing is fetched.
INSTALLED := $(VENV)/.installed-$(shell cat requirements-build.txt requirements-dev.txt pyproject.toml | cksum | cut -d ' ' -f 1)

PIP := $(BIN)/python -m pip install --quiet --no-build-isolation

# The environment is this checkout's own, whatever the caller's shell has set.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Job logs and a cluster driver from outside the project, for `make replay`; nothing else needs them.
REPLAY_DRIVER ?= ../shared/tools/cluster_driver.py
REPLAY_LOG ?= ../shared/traces/KTH-SP2-1996-2.1-cln.swf.gz

.PHONY: help setup demo test replay chaos fuzz fuzz-atheris hostile check check-lint check-format check-types check-imports check-house bench docs lock clean

help:  ## say what each verb does
	@sed -n 's/^\([a-z-]*\):.*##/\1\t/p' Makefile | expand -t 14

setup: $(INSTALLED)  ## make .venv and install the pinned requirements

demo: $(INSTALLED)  ## run a small cluster against two simulated clouds
	@$(BIN)/provisioner demo

test: $(INSTALLED)  ## run every test, real processes included
	@$(BIN)/python -m pytest -n $(JOBS) --maxprocesses 4 --dist loadfile $(ARGS)

replay: $(INSTALLED)  ## play real job logs with a driver from outside the project, also with kill -9; says so where they are absent
	@$(BIN)/python -m tests.replay --driver $(REPLAY_DRIVER) --log $(REPLAY_LOG) --start-hour 2076
	@$(BIN)/python -m tests.replay --driver $(REPLAY_DRIVER) --log $(REPLAY_LOG) --start-hour 5544 --timeout 900
	@$(BIN)/python -m tests.replay --driver $(REPLAY_DRIVER) --log $(REPLAY_LOG) --start-hour 5544 --timeout 900 --kill

chaos: N ?= 2000
chaos: SEED ?= 1
chaos: $(INSTALLED)  ## play N random histories full of faults from SEED on, and say what went wrong
	@$(BIN)/python -m provisioner.sim.chaos $(N) $(SEED)

fuzz: N ?= 100000
fuzz: SEED ?= 1
fuzz: $(INSTALLED)  ## say N mutated streams to both sides of the contract from SEED on, and say what broke
	@$(BIN)/python -m tests.fuzz $(N) $(SEED)

fuzz-atheris: $(INSTALLED)  ## the same, guided by the code reached, where atheris is installed; ARGS goes to libFuzzer
	@$(BIN)/python -m tests.fuzz.guided $(ARGS)

hostile: $(INSTALLED)  ## run the daemon beside each hostile provider and print what its health, memory and good provider suffer
	@$(BIN)/python -m tests.hostile $(ARGS)

check: check-lint check-format check-types check-imports check-house  ## lint, format, types, import direction, house rules

check-lint: $(INSTALLED)
	@$(BIN)/ruff check .

check-format: $(INSTALLED)
	@$(BIN)/ruff format --check .

check-types: $(INSTALLED)
	@$(BIN)/mypy

check-imports: $(INSTALLED)
	@$(BIN)/lint-imports --no-logo --cache-dir build/import_linter_cache

check-house: $(INSTALLED)
	@$(BIN)/python -m pytest -q tests/house

bench: $(INSTALLED)  ## measure against floors and peers, write build/bench.json
	@$(BIN)/python -m tests.bench

docs: $(INSTALLED)  ## build the documentation into build/docs, warnings are errors
	@$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/docs
	@echo "The documentation is in build/docs/index.html"

# Pins are made for every supported Python at once. Needs uv, which nothing else here needs.
UV := $(or $(wildcard $(BIN)/uv),uv)
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links

lock:  ## pin the requirements again from pyproject.toml
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: install it, or put it into $(BIN)." >&2; exit 1; }
	$(COMPILE) pyproject.toml --extra dev --extra docs --group build -o requirements-dev.txt
	$(COMPILE) pyproject.toml -c requirements-dev.txt -o requirements.txt
	$(COMPILE) --group build -c requirements-dev.txt -o requirements-build.txt

clean:  ## remove what was built; the environment stays
	@rm -rf build dist && mkdir build
	@find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

$(INSTALLED): requirements-build.txt requirements-dev.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || \
		{ echo "No $(PYTHON) here. Install Python 3.11 or newer, or name one: make setup PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$$($(PYTHON) -V) is too old: Python 3.11 or newer is needed. Name one: make setup PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo "$(PYTHON) cannot make environments: install its venv module (on Debian and Ubuntu: apt-get install python3-venv)." >&2; exit 1; }
	@$(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Making $(VENV)"; $(PYTHON) -m venv --clear $(VENV); }
	@echo "Installing the pinned requirements into $(VENV)"
	@$(PIP) --require-hashes -r requirements-build.txt
	@$(PIP) --require-hashes -r requirements-dev.txt
	@$(PIP) --no-deps --no-index -e .
	@rm -f $(VENV)/.installed-*
	@mkdir -p build
	@touch $@
