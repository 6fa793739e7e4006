# What people do here. Needs make, Python 3.11 or newer, and the Python package index on first use.
# Written for GNU make 3.81 (macOS) and a POSIX shell.

SHELL := /bin/sh
BIN := .venv/bin
READY := .venv/.ready
# A server of one's own needs a fifth of what the tests do: 350 MB, and is there in a minute.
SERVES := .venv/.serves
# Generators of clients that the tests run. They need other versions of what the server needs.
GENERATORS := .tools/generators/.ready
# Arguments of serve, test and bench: make serve ARGS="--port 9000"
ARGS ?=
# Test processes: four more than processors, since tests wait for what they started for a good part of
# the time; each further one takes two seconds of CPU to collect all tests.
WORKERS ?= $$(($$(getconf _NPROCESSORS_ONLN) + 4))

# Prints the interpreter's own path; prints nothing and fails in one that is too old.
NEW_ENOUGH := import sys; sys.version_info >= (3, 11) or sys.exit(1); print(sys.executable)

export UV_PYTHON_DOWNLOADS := never
# Containers often forbid Python to keep compiled modules. Here that would cost each start of a
# process two seconds: setup compiles what is installed, and our own modules are kept as imported.
export PYTHONDONTWRITEBYTECODE :=
export UV_PROJECT_ENVIRONMENT := .venv

# Tests of the distributions: make test PACKAGE=offline. The server has what is no other one's.
TESTS_agents := packages/agents/tests
TESTS_client := clients/python/tests clients/typescript/tests
TESTS_offline := packages/offline/tests packages/agents/tests/extraction
TESTS_server := packages/server/tests tests
TESTS_verify := packages/verify/tests packages/server/tests/cli/test_verify.py
PACKAGE ?=
TESTS = $(if $(PACKAGE),$(or $(TESTS_$(PACKAGE)),$(error PACKAGE is agents, offline, verify, client or server)))

.DEFAULT_GOAL := help
# Of make quick. Tests that ask a type checker, a server or the whole environment are left out.
CLIENT := clients/python/tests/client
SERVER := packages/server/tests
QUICK := $(addprefix --ignore=,$(CLIENT)/test_typing.py $(CLIENT)/test_server.py \
  tests/house/test_distributions.py tests/house/test_deploy.py) \
  tests/house $(CLIENT) packages/agents/tests/threads packages/agents/tests/domain \
  $(wildcard $(SERVER)/*/test_*_rules.py) $(addprefix $(SERVER)/,contract observability storage limits \
  record/test_transitions.py record/test_divergence.py db/test_sqlite.py turns/test_turns.py \
  jobs/test_job_states.py credits/test_credits.py)

.PHONY: help setup serve test compile-tests quick house names generators typing fuzz oldest lives simulate chaos check lint types imports format generate docs release-check sbom audit deploy gallery screenshots sizes bench clean other-clients runtimes

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## Make the environment in .venv with every extra and the tests

serve: $(if $(wildcard $(READY)),$(READY),$(SERVES)) ## Start the server; ARGS are those of `agentpost serve`
	@exec $(BIN)/agentpost serve $(ARGS)

test: $(READY) $(GENERATORS) ## Run all tests in parallel, or those of one PACKAGE; ARGS are pytest's
	@.ci/browser
	@[ -n "$(PACKAGE)" ] || [ -d tests/__pycache__ ] || $(MAKE) --no-print-directory compile-tests
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(TESTS) $(ARGS)

# In a fresh clone two processes compile the modules of tests, 12 s of CPU: the one that workers are
# forked from would do it alone, and where none is forked each worker would.
compile-tests:
	@for tests in packages/server "tests clients packages/agents packages/offline packages/verify"; \
	  do $(BIN)/python -m pytest --collect-only -qq -n 0 $$tests >/dev/null & done; wait

quick: $(READY) ## Run the tests that need no server and no database but SQLite, in a minute
	@$(BIN)/python -m pytest -n $$(getconf _NPROCESSORS_ONLN) --dist worksteal -k "not postgres" \
	  --durations=0 --durations-min=5 $(QUICK) $(ARGS)

generators: $(READY) $(GENERATORS) ## Make, compile and call clients with every generator of docs/api.md; minutes
	@uv=uv; uv --version >/dev/null 2>&1 || uv=.tools/uv/bin/uv; \
	$$uv pip install --quiet --python .tools/generators/bin/python \
	  -r tests/generators/requirements.txt -r tests/generators/requirements-all.txt
	@$(BIN)/python -m pytest -n 2 tests/generators/*.py $(ARGS)

typing: $(READY) ## Check a strict project that uses the client with mypy and pyright
	@$(BIN)/python -m pytest -q -n0 $(CLIENT)/check_typing.py $(ARGS)

fuzz: $(READY) ## Requests at random by schemathesis from the description, and walks along its links
	@$(BIN)/python -m pytest -q -n 2 $(SERVER)/api/check_description.py $(ARGS)

lives: $(READY) ## Play twenty times as many random lives of an account as `make test` does
	@TEST_LIVES=20 $(BIN)/python -m pytest -n 2 --timeout 0 \
	  packages/server/tests/record/test_record_property.py $(ARGS)

simulate: $(READY) ## Play random histories of whole nodes; ARGS="--histories 50000 --seed 7"
	@PYTHONPATH=. $(BIN)/python -m tests.simulation $(ARGS)

chaos: $(READY) ## Real processes under real faults; ARGS="--minutes 60 --seed 7 --faults kill,stop"
	@PYTHONPATH=. $(BIN)/python -m tests.chaos $(ARGS)

runtimes: $(READY) ## Try the TypeScript client in Bun, Deno, workerd, a browser and more; installs 500 MB
	@.ci/browser
	@$(BIN)/python -m pytest -n0 tests/runtimes/check_runtimes.py $(ARGS)

oldest: $(READY) ## Run tests with the oldest versions of the libraries that pyproject.toml allows
	@uv=uv; uv --version >/dev/null 2>&1 || uv=$(CURDIR)/.tools/uv/bin/uv; .ci/oldest $$uv $(BIN)/python $(ARGS)

check: lint types imports names ## Lint, formatting, types, import contracts, names

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY)
	@$(BIN)/mypy

imports: $(READY)
	@PYTHONPATH=. $(BIN)/lint-imports --no-logo

names: $(READY)
	@$(BIN)/python -m tests.house.names

format: $(READY) ## Format the code and fix what can be fixed
	@$(BIN)/ruff check --fix --exit-zero .
	@$(BIN)/ruff format .

generate: $(READY) ## Make the files that are made from code; git diff shows what changed
	@$(BIN)/python docs/openapi.py >.venv/.made && mv .venv/.made docs/openapi.json
	@$(BIN)/python docs/client_typescript.py >.venv/.made && mv .venv/.made clients/typescript/src/api.ts
	@$(BIN)/python docs/client_models.py
	@$(BIN)/python docs/client_methods.py
	@$(BIN)/python docs/client_sync.py
	@$(BIN)/python docs/state_machine.py >.venv/.made && mv .venv/.made docs/state-machine.md
	@$(BIN)/python docs/diagrams.py
	@$(BIN)/python docs/errors.py
	@$(BIN)/python docs/commands.py
	@$(BIN)/python docs/command_reference.py
	@PYTHONPATH=. $(BIN)/python packages/server/tests/contract/test_wire.py >.venv/.made && \
	  mv .venv/.made packages/server/tests/contract/wire.json
	@$(BIN)/python docs/contract.py
	@$(BIN)/python docs/house.py

house: $(READY) ## Draw the map of the rooms into ARCHITECTURE.md
	@$(BIN)/python docs/house.py

docs: $(READY) ## Build the site of docs/ into site/, without network; open site/index.html
	@$(BIN)/python docs/site/build.py site

sizes: $(READY) ## Install the built wheels for real, each into an environment of its own
	@uv=uv; uv --version >/dev/null 2>&1 || uv=.tools/uv/bin/uv; .ci/sizes $$uv $(BIN)/python

release-check: $(READY) ## Build the wheels, run the server from them with uvx, resolve it beside frameworks
	@uv=uv; uv --version >/dev/null 2>&1 || uv=.tools/uv/bin/uv; .ci/release $$uv $(BIN)/python
	@$(BIN)/python -m pytest -q -n0 tests/house/check_resolution.py

sbom: $(READY) ## Write dist/sbom.cdx.json: every package of uv.lock, as CycloneDX
	@mkdir -p dist
	@uv=uv; uv --version >/dev/null 2>&1 || uv=.tools/uv/bin/uv; $$uv export --quiet --locked \
	  --no-default-groups --all-extras --preview-features sbom-export --format cyclonedx1.5 \
	  --output-file dist/sbom.cdx.json >/dev/null
	@echo "dist/sbom.cdx.json"

audit: $(READY) ## Ask for known vulnerabilities of every package; needs the advisory service
	@uv=uv; uv --version >/dev/null 2>&1 || uv=.tools/uv/bin/uv; $(BIN)/python .ci/audit.py $$uv

other-clients: $(READY) ## Try LangChain, LiteLLM and a chat front end, which it installs apart
	@.ci/browser
	@uv=uv; uv --version >/dev/null 2>&1 || uv=.tools/uv/bin/uv; \
	  [ -x .tools/other-clients/bin/python ] || $$uv venv -q .tools/other-clients; \
	  $$uv pip install -q --python .tools/other-clients -r tests/other_clients/requirements.txt
	@$(BIN)/python -m pytest -n0 tests/other_clients/every_client.py $(ARGS)

deploy: $(READY) ## Check deploy/ with the linters that the tests do not have; starts nothing
	@uv=uv; uv --version >/dev/null 2>&1 || uv=.tools/uv/bin/uv; .ci/deploy $$uv

screenshots: $(READY) ## Make docs/screenshots: every page, light, dark and on a phone; ARGS are names
	@.ci/browser
	@PYTHONPATH=. $(BIN)/python docs/screenshots/screenshots.py $(ARGS)

gallery: $(READY) ## Render what the built-in agent makes to docs/gallery; ARGS are words of names
	@PYTHONPATH=. $(BIN)/python docs/gallery/gallery.py $(ARGS)

bench: $(READY) ## Measure; ARGS are those of benchmarks/run.py
	@PYTHONPATH=. $(BIN)/python benchmarks/run.py $(ARGS)

clean: ## Remove the environment and every cache
	rm -rf site .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(GENERATORS): tests/generators/requirements.txt | $(READY)
	@uv=uv; uv --version >/dev/null 2>&1 || uv=.tools/uv/bin/uv; \
	$$uv venv --quiet --allow-existing --python $(BIN)/python $(@D) && \
	$$uv pip install --quiet --python $(@D)/bin/python -r $<
	@touch $@

# The interpreter is the one .venv has, while that is new enough, else the first such on PATH: asked
# for its own path, since a shim's path would make uv build .venv anew each time. uv is the one on
# PATH, else one of our own.
$(SERVES): SYNC := --package agentpost --extra offline --no-default-groups
$(READY): SYNC := --all-packages --all-extras --all-groups
$(READY) $(SERVES): pyproject.toml clients/python/pyproject.toml $(wildcard packages/*/pyproject.toml) uv.lock
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
	if [ "$@" = $(SERVES) ]; then \
	  echo "Installing what the server needs into .venv: once, 350 MB, about a minute"; \
	fi; \
	$$uv sync --locked $(SYNC) --compile-bytecode --python "$$python"
	@touch $@
