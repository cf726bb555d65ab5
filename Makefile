# Everything happens in .venv inside the checkout; nothing global is touched. GNU make 3.81 or newer.
PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
# The stamp of a finished set-up. It holds the folder it was made in, because neither the scripts of an environment
# nor an editable install survive a move. While a set-up runs the stamp has the other name: what is found under that
# name was interrupted, and is made afresh.
READY := $(VENV)/.ready
UNFINISHED := $(VENV)/.unfinished
READY_FOR := $(shell test -x $(BIN)/python && cat $(READY) 2>/dev/null)

# Spark is the one of .venv and its workers run the Python of .venv, whatever else the machine has.
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
unexport SPARK_HOME

# What Python and pytest compile is kept: otherwise each of the processes of a test run compiles it anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-thorough test-slow bench fuzz fuzz-patterns fuzz-posts fuzz-frames mutate kafka check format clean require-python require-java

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## make .venv with all that development needs (the others do it on demand)

demo: require-java $(READY) ## see it work: `tidings demo`
	@$(BIN)/tidings demo $(ARGS)

test: require-java $(READY) ## run the quick tests; some of them: make test ARGS="tests/language -k phrase"
	@$(BIN)/pytest --numprocesses=auto --maxprocesses=8 --dist=worksteal $(ARGS)

test-thorough: require-java $(READY) ## run the tests with Spark, Kafka and kills that `make test` leaves out
	@$(BIN)/pytest -m "thorough and not slow" $(ARGS)

test-slow: require-java $(READY) ## run the tests that take minutes; real data from the folder TIDINGS_DATA
	@$(BIN)/pytest -m slow $(ARGS)

bench: require-java $(READY) ## measure: make bench ARGS="matching --workload words --subscriptions 1000000"
	@$(BIN)/python -m benchmarks $(ARGS)

fuzz: $(READY) ## throw a million random queries at the language
	@PYTHONPATH=. $(BIN)/python tests/language/fuzz.py --count 1000000 $(ARGS)

fuzz-patterns: $(READY) ## throw a million hostile regular expressions and wildcards at the language
	@PYTHONPATH=. $(BIN)/python tests/terms/fuzz_patterns.py --count 1000000 $(ARGS)

mutate: $(READY) ## change the code of the core in 204 places, one by one, and see whether the tests notice
	@NUMBA_OPT=1 TIDINGS_EXAMPLES=all $(BIN)/python -m tools.mutants $(ARGS)

fuzz-posts: $(READY) ## throw a million hostile posts at an engine
	@PYTHONPATH=. $(BIN)/python tests/engine/fuzz_posts.py --count 1000000 $(ARGS)

fuzz-frames: $(READY) ## throw a million hostile frames at the reading of a broker
	@PYTHONPATH=. $(BIN)/python tests/broker/fuzz_frames.py --count 1000000 $(ARGS)

kafka: require-java $(READY) ## run a Kafka broker for an hour, installed on first use: make kafka ARGS="--for-s 600"
	@$(BIN)/python tools/kafka.py $(ARGS)

check: require-java $(READY) ## lint, format, types, layers, then all tests but the slow ones: green before a push
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	TIDINGS_EXAMPLES=all $(MAKE) --no-print-directory test
	TIDINGS_EXAMPLES=all $(MAKE) --no-print-directory test-thorough

format: $(READY) ## format the code and mend what ruff can mend
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

clean: ## remove caches and build products; .venv stays (to renew it: rm -rf .venv)
	@rm -rf build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src benchmarks tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

ifeq ($(READY_FOR),$(CURDIR))
require-python: ;

require-java:
	@$(BIN)/python tools/require_java.py
else
.PHONY: $(READY)

require-python:
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON) on PATH. tidings needs Python 3.11 or newer:" \
	    "install one, or name yours: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "tidings needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	    "Install a newer one and name it: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "$(PYTHON) cannot make a virtual environment: its venv or ensurepip module is missing." \
	    "On Debian and Ubuntu: sudo apt install python3-venv" >&2; exit 1; }

require-java: require-python
	@$(PYTHON) tools/require_java.py
endif

$(READY): pyproject.toml | require-python
	@echo "setting up $(VENV) (about a minute, once)" >&2
	@mkdir -p $(VENV)
	@if [ -e $(UNFINISHED) ] || { [ -e $(READY) ] && [ "$(READY_FOR)" != "$(CURDIR)" ]; }; then \
	    find $(VENV) -mindepth 1 -maxdepth 1 ! -name .unfinished -exec rm -rf {} + ; fi
	@rm -f $(READY)
	@echo "$(CURDIR)" >$(UNFINISHED)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@mv $(UNFINISHED) $(READY)
