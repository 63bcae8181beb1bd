# Bare `make` lists the recipes. Text after `##` is the description shown there.

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed

# Further arguments of the command a recipe ends in, e.g. `make test ARGS="-k claim -x"`.
ARGS ?=

# Compiling the sources again in each of the hundreds of processes that the tests start would take minutes.
unexport PYTHONDONTWRITEBYTECODE

BENCHES := throughput enqueue latency growth ingest export pages search limiter transports

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install up programs test test-quick test-all test-pooler coverage check format bench bench-quick bench-peers chaos fuzz mutants lock ui openapi lock-ui screenshots docs schema clean

help: ## list the recipes
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		while IFS='|' read -r recipe text; do printf '%-20s %s\n' "$$recipe" "$$text"; done

install: $(STAMP) ## create .venv with the locked packages and Penstock in it

# Redone only when the lock or the project file changed. PYTHON=... chooses another interpreter.
$(STAMP): requirements.lock pyproject.toml tools/install.sh
	@PYTHON="$(PYTHON)" tools/install.sh

up: install ## start Penstock on this machine and say where
	@$(BIN)/python tools/build_ui.py --pages-only
	@exec $(BIN)/penstock up $(ARGS)

programs: ## install Redis, RabbitMQ and chromium for the tests, where they are missing and apt-get may
	@tools/install-test-programs.sh

test: install programs ## run the checks, then every test: what decides whether a change may land
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check ui
	@exec $(BIN)/pytest $(ARGS)

test-quick: install ## run the tests that need only Python and PostgreSQL (about a minute)
	@$(BIN)/pytest tests/unit tests/storage tests/core $(ARGS)

# Hours: 10,000,000 rows, 20,000 records, 200 sites, 1,000 histories.
test-all: install programs ## run every test at its full size
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check ui
	PENSTOCK_TEST_LONG=1 PENSTOCK_FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/pytest --timeout 7200 $(ARGS)

# Every process is measured but those that are killed; takes about a third longer.
coverage: install programs ui ## run every test and print the branch coverage of src/penstock
	@rm -f .coverage .coverage.*
	@$(BIN)/coverage run -m pytest $(ARGS); code=$$?; $(BIN)/coverage combine --quiet && $(BIN)/coverage report; exit $$code

# The tests behind a pooler are skipped where there is none; here they are not.
test-pooler: install ## run the tests that need PgBouncer (Debian: apt-get install pgbouncer)
	PENSTOCK_TEST_POOLER=1 $(BIN)/pytest tests/crash/test_pooler.py $(ARGS)

check: install ## look at format, lint, types and layers without changing a file
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/house.py

format: install ## write the format and the safe lint fixes into the files
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install ## measure everything at full size (about half an hour)
	@set -e; for bench in $(BENCHES); do $(BIN)/penstock bench $$bench $(ARGS); done

bench-quick: install ## measure everything, at most a minute each
	@set -e; for bench in $(BENCHES) storm; do $(BIN)/penstock bench $$bench --quick $(ARGS); done

bench-peers: install ## measure Penstock and its peers on the same work in one run
	@if [ -x bench/peers/run.sh ]; then exec bench/peers/run.sh $(ARGS); else exec $(BIN)/python bench/peers/run.py $(ARGS); fi

chaos: install ## the long storm of killed and frozen workers
	@exec $(BIN)/penstock bench storm $(ARGS)

# FUZZ_SECONDS=1800 gives it half an hour for each actor.
FUZZ_SECONDS ?= 300
fuzz: install ## send anything to every route of the API for some minutes
	PENSTOCK_FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/pytest -n 0 tests/console/test_fuzz.py $(ARGS)

mutants: install ## plant known bugs one by one; the suite must find each
	@exec $(BIN)/python -m tests.mutants $(ARGS)

# Keeps every pin that still fits; `make lock ARGS=--upgrade` takes the newest versions.
lock: ## write requirements.lock anew from pyproject.toml
	@PYTHON="$(PYTHON)" tools/install.sh --bare
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet 'uv>=0.9,<1'
	@$(BIN)/uv pip compile pyproject.toml --extra all --group dev --no-config \
		--universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--custom-compile-command "make lock" --quiet --output-file requirements.lock $(ARGS)
	@echo "requirements.lock: $$(grep -c '^[a-z].*==' requirements.lock) packages"

# Does nothing where the pages fit their sources already and the packages that tests use are there.
ui: install ## build the web pages into the package
	@$(BIN)/python tools/build_ui.py

openapi: install ## write ui/openapi.json, from which the pages get their types
	@$(BIN)/python tools/openapi.py

lock-ui: install ## write ui/package-lock.json anew from ui/package.json
	@$(BIN)/python tools/lock_ui.py

screenshots: ui programs ## take the pictures of docs/screenshots anew (about four minutes)
	@$(BIN)/python tools/screenshots.py $(ARGS)

docs: install ## write the generated parts of the pages in docs
	@$(BIN)/python tools/docs.py

schema: install ## dump the migrated schema to src/penstock/storage/schema.sql
	@$(BIN)/python tools/dump_schema.py

clean: ## remove .venv, caches and build results
	rm -rf $(VENV) .venv.lock build dist htmlcov .coverage .coverage.* \
		.hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
