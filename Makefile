# Python 3.11 or newer, pip and make are all that is needed: every target makes what it runs in.
# test-314 needs node and npm too.
PYTHON ?= python3
# With PYTHON=python3.12 they are .venv-3.12 and so on: each version of Python has its own.
SHORT_VERSION := import sys; print("%d.%d%s" % (*sys.version_info[:2], sys.abiflags))
VENV := .venv$(if $(filter file,$(origin PYTHON)),,-$(shell $(PYTHON) -c '$(SHORT_VERSION)'))
BIN := $(VENV)/bin
BENCH_BIN := $(VENV)-bench/bin
JOBS ?= 2
ROOM ?= passes
SAMPLE ?= 300
SEED ?= 0
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
# It installs groups of dependencies; the pip of a new environment may be older.
NEW_PIP := $(PIP_INSTALL) 'pip>=25.1'

.DEFAULT_GOAL := help
.PHONY: help demo demo-ray test test-all test-random test-314 test-engines check bench mutants clean

help:
	@echo 'make demo         show a first prompt, what is sent, and the next three commands'
	@echo 'make demo-ray     render 100,000 rows on Ray'
	@echo 'make test         run the tests in JOBS processes  ARGS="-k encoding"'
	@echo 'make test-all     run the slow tests too, and those that need an SDK or a browser'
	@echo 'make test-random  run them all, searching with other examples each time'
	@echo 'make test-314     run some of them in Python 3.14, as WebAssembly in node'
	@echo 'make test-engines run batches and pipelines on Ray, Daft, Spark and datasets'
	@echo 'make check        lint, formatting, types, architecture, tests that cannot fail'
	@echo 'make bench        measure against others          ARGS="--quick"'
	@echo 'make mutants      make mistakes in a room, and see whether a test notices   ROOM=passes'
	@echo 'make clean        remove what the other targets made'

TRIAGE := examples/evaluation/prompts.py:triage

demo: $(VENV)/.demo
	$(BIN)/python examples/first_prompt.py
	@echo
	@echo 'Next: the same prompt for Claude, a prompt over a table, and a bot (with your key of OpenAI):'
	@echo '  $(BIN)/promptdsl render examples/first_prompt.py:prompt --model claude-opus-5-5'
	@echo '  $(BIN)/promptdsl batch $(TRIAGE) examples/evaluation/mails.csv --model gpt-5 --dry-run'
	@echo '  $(BIN)/pip install -e ".[tools]" openai && OPENAI_API_KEY=... $(BIN)/python examples/first_bot.py'

demo-ray: $(VENV)/.ray
	$(BIN)/python examples/many_rows.py

# Compiled tests are kept, whatever the environment says: to compile them takes as long again as to
# collect them. A seed chooses other examples of the properties than those of every day.
PYTHON_TESTS := PYTHONDONTWRITEBYTECODE= $(BIN)/python
PYTEST := $(PYTHON_TESTS) -m pytest -q -n auto --dist worksteal
CHOSEN = $(if $(HYPOTHESIS_SEED),--hypothesis-seed=$(HYPOTHESIS_SEED)) $(ARGS)

# Each process has its share of the files, and none waits for another.
test: $(VENV)/.test
	$(PYTHON_TESTS) -m tests.run --jobs $(JOBS) -q -m 'not slow and not sdk and not browser' \
		--hypothesis-profile=fast $(CHOSEN)

# Slow tests are too uneven for shares: idle workers take tests from busy ones.
test-all: $(VENV)/.dev .venv-agents/.test .venv-page/.test
	$(PYTEST) $(CHOSEN)

test-random: $(VENV)/.dev .venv-agents/.test
	$(PYTEST) --hypothesis-profile=random $(ARGS)

# What depends on the version of Python: arguments, tables, rendering, t-strings.
test-314: .venv-314/.test
	node tests/python314/run.mjs .venv-314 -q -m 'not native and not slow and not sdk' \
		tests/components/test_arguments.py tests/components/test_tables.py \
		tests/test_rendering.py tests/test_tables.py tests/python314 $(ARGS)

# Each file in one process: a cluster of Ray is its own. Ray leaves files open at its end.
test-engines: $(VENV)-engines/.test
	$(VENV)-engines/bin/python -m pytest -q -n 2 --dist loadfile -p no:unraisableexception \
		tests/engines $(ARGS)

check: $(VENV)/.dev .venv-page/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python -m tests.claims
	.venv-page/node_modules/.bin/tsc --project tests/page

bench: $(VENV)-bench/.bench
	$(BENCH_BIN)/python -m benchmarks $(ARGS)

# Every mutant runs in a fork of one process; FULL=1 makes all of them, not a sample.
mutants: $(VENV)/.test
	$(BIN)/python -m tests.mutants $(ROOM) --sample $(SAMPLE) --seed $(SEED) --jobs $(JOBS) \
		$(if $(FULL),--full) --report build/mutants/$(ROOM).json

clean:
	rm -rf .venv .venv-* build dist htmlcov .coverage .coverage.*
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is younger than pyproject.toml as long as nothing has to be installed again.
$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) -e .
	@touch $@

$(VENV)/.ray: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) -e '.[ray]'
	@touch $@

$(VENV)-engines/.test: pyproject.toml
	$(PYTHON) -m venv $(VENV)-engines
	$(VENV)-engines/bin/python $(NEW_PIP)
	$(VENV)-engines/bin/python $(PIP_INSTALL) -e . --group engines
	@touch $@

$(VENV)/.test: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(NEW_PIP)
	$(BIN)/python $(PIP_INSTALL) -e . --group test
	@touch $@

# mini-swe-agent asks for datasets and textual, which its prompts do not need: what they need is in dev.
$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(NEW_PIP)
	$(BIN)/python $(PIP_INSTALL) -e . --group dev
	$(BIN)/python $(PIP_INSTALL) --no-deps 'mini-swe-agent>=2.4,<3'
	@touch $@

# The prompts of other agents, without what these need: some of it is older than what the tests have.
.venv-agents/.test: tests/integrations/ports/requirements.txt
	$(PYTHON) -m venv .venv-agents
	.venv-agents/bin/python $(PIP_INSTALL) --no-deps --requirement $< && touch $@ || \
		echo 'no package index: the tests of these agents are skipped'

# No compiled module can be loaded there. Of a wheel that has some, the rest is used: the platform
# is named so that every machine takes the same one.
.venv-314/.test: tests/python314/package.json tests/python314/requirements.txt
	rm -rf .venv-314
	mkdir .venv-314
	cp tests/python314/package.json .venv-314
	npm install --prefix .venv-314 --ignore-scripts --no-audit --no-fund --no-package-lock
	$(PYTHON) $(PIP_INSTALL) --target .venv-314/packages --no-deps --no-compile \
		--only-binary :all: --python-version 3.14 --platform manylinux2014_x86_64 \
		--requirement tests/python314/requirements.txt
	@touch $@

# The page: axe for its tests, and the types of its modules.
.venv-page/.test: tests/page/package.json
	rm -rf .venv-page
	mkdir .venv-page
	cp tests/page/package.json .venv-page
	npm install --prefix .venv-page --ignore-scripts --no-audit --no-fund --no-package-lock
	@touch $@

$(VENV)-bench/.bench: pyproject.toml
	$(PYTHON) -m venv $(VENV)-bench
	$(BENCH_BIN)/python $(NEW_PIP)
	$(BENCH_BIN)/python $(PIP_INSTALL) -e . --group benchmarks
	@touch $@
