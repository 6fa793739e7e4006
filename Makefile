# What people do here. Needs make, Python 3.11 or newer, and the Python package index on first use.
# Written for GNU make 3.81 (macOS) and a POSIX shell.

SHELL := /bin/sh
BIN := .venv/bin
READY := .venv/.ready
# Arguments of serve, test and bench: make serve ARGS="--port 9000"
ARGS ?=
# Test processes: one more than processors, since tests wait for what they started much of the time.
WORKERS ?= $$(($$(getconf _NPROCESSORS_ONLN) + 1))

# Prints the interpreter's own path; prints nothing and fails in one that is too old.
NEW_ENOUGH := import sys; sys.version_info >= (3, 11) or sys.exit(1); print(sys.executable)

MODELS := clients/python/src/agentpost_client/models.py

export UV_PYTHON_DOWNLOADS := never
# Containers often forbid Python to keep compiled modules. Here that would cost each start of a
# process two seconds: setup compiles what is installed, and our own modules are kept as imported.
export PYTHONDONTWRITEBYTECODE :=
export UV_PROJECT_ENVIRONMENT := .venv

.DEFAULT_GOAL := help
QUICK := tests/domain tests/contract tests/house tests/client tests/observability tests/storage \
  tests/threads tests/db/test_sqlite.py tests/services/test_turns.py \
  tests/services/test_job_states.py tests/services/test_credits.py

.PHONY: help setup serve test quick lives check lint types imports format generate gallery screenshots sizes bench clean

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## Make the environment in .venv (the others do it when needed)

serve: $(READY) ## Start the server; ARGS are those of `agentpost serve`
	@exec $(BIN)/agentpost serve $(ARGS)

test: $(READY) ## Run all tests in parallel; ARGS are pytest's
	@.ci/browser
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

quick: $(READY) ## Run the tests that need no server and no database but SQLite, in a minute
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -k "not postgres" --durations=0 \
	  --durations-min=5 $(QUICK) $(ARGS)

lives: $(READY) ## Play twenty times as many random lives of an account as `make test` does
	@TEST_LIVES=20 $(BIN)/python -m pytest -n 2 --timeout 0 \
	  tests/services/test_record_property.py $(ARGS)

check: lint types imports ## Lint, formatting, types, import contracts

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY)
	@$(BIN)/mypy

imports: $(READY)
	@$(BIN)/lint-imports --no-logo

format: $(READY) ## Format the code and fix what can be fixed
	@$(BIN)/ruff check --fix --exit-zero .
	@$(BIN)/ruff format .

generate: $(READY) ## Make the files that are made from code; git diff shows what changed
	@$(BIN)/python docs/openapi.py >.venv/.made && mv .venv/.made docs/openapi.json
	@$(BIN)/python docs/client_models.py >.venv/.made && mv .venv/.made $(MODELS)
	@$(BIN)/python docs/state_machine.py >.venv/.made && mv .venv/.made docs/state-machine.md
	@PYTHONPATH=. $(BIN)/python tests/contract/test_wire.py >.venv/.made && \
	  mv .venv/.made tests/contract/wire.json
	@$(BIN)/python docs/contract.py

sizes: $(READY) ## Install the built wheels for real, each into an environment of its own
	@uv=uv; uv --version >/dev/null 2>&1 || uv=.tools/uv/bin/uv; .ci/sizes $$uv $(BIN)/python

screenshots: $(READY) ## Make docs/screenshots: every page, light, dark and on a phone; ARGS are names
	@.ci/browser
	@PYTHONPATH=. $(BIN)/python docs/screenshots/screenshots.py $(ARGS)

gallery: $(READY) ## Render what the built-in agent makes to docs/gallery; ARGS are words of names
	@PYTHONPATH=. $(BIN)/python docs/gallery/gallery.py $(ARGS)

bench: $(READY) ## Measure; ARGS are those of benchmarks/run.py
	@PYTHONPATH=. $(BIN)/python benchmarks/run.py $(ARGS)

clean: ## Remove the environment and every cache
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# The interpreter is the one .venv has, while that is new enough, else the first such on PATH: asked
# for its own path, since a shim's path would make uv build .venv anew each time. uv is the one on
# PATH, else one of our own.
$(READY): pyproject.toml clients/python/pyproject.toml uv.lock
	@python=; \
	for name in $(BIN)/python python3 python3.14 python3.13 python3.12 python3.11; do \
	  python=$$($$name -c '$(NEW_ENOUGH)' 2>/dev/null) && break; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "agentpost needs Python 3.11 or newer, and none was found on PATH." >&2; exit 1; \
	fi; \
	uv=uv; \
	if ! uv --version >/dev/null 2>&1; then \
	  uv=.tools/uv/bin/uv; \
	  if ! $$uv --version >/dev/null 2>&1; then \
	    echo "Installing uv into .tools"; \
	    "$$python" -m venv --clear .tools/uv && \
	    .tools/uv/bin/pip install --quiet --disable-pip-version-check uv || exit 1; \
	  fi; \
	fi; \
	$$uv sync --locked --all-extras --compile-bytecode --python "$$python"
	@touch $@
