# Python 3.11 or newer, pip and make are all that is needed: every target makes what it runs in.
PYTHON ?= python3
BIN := .venv/bin
BENCH_BIN := .venv-bench/bin
JOBS ?= 2
ROOM ?= passes
SAMPLE ?= 300
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-random check bench mutants clean

help:
	@echo 'make demo         run examples/support_agent.py'
	@echo 'make test         run the tests, in two minutes   ARGS="-k encoding"'
	@echo 'make test-all     run the slow tests too, and those that need an SDK'
	@echo 'make test-random  run them all, searching with other examples each time'
	@echo 'make check        lint, formatting, types, architecture'
	@echo 'make bench        measure against others          ARGS="--quick"'
	@echo 'make mutants      make mistakes in a room, and see whether a test notices   ROOM=passes'
	@echo 'make clean        remove what the other targets made'

demo: .venv/.demo
	$(BIN)/python examples/support_agent.py

# Idle workers take tests from busy ones: no test leans on another.
PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal

test: .venv/.test
	$(PYTEST) -m 'not slow and not sdk' --hypothesis-profile=fast $(ARGS)

test-all: .venv/.dev
	$(PYTEST) $(ARGS)

test-random: .venv/.dev
	$(PYTEST) --hypothesis-profile=random $(ARGS)

check: .venv/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

bench: .venv-bench/.bench
	$(BENCH_BIN)/python -m benchmarks $(ARGS)

# Every mutant runs in a fork of one process; FULL=1 makes all of them, not a sample.
mutants: .venv/.test
	$(BIN)/python -m tests.mutants $(ROOM) --sample $(SAMPLE) --jobs $(JOBS) $(if $(FULL),--full) \
		--report build/mutants/$(ROOM).json

clean:
	rm -rf .venv .venv-bench build dist htmlcov .coverage .coverage.*
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is younger than pyproject.toml as long as nothing has to be installed again.
.venv/.demo: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP_INSTALL) -e .
	@touch $@

.venv/.test: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP_INSTALL) -e '.[test]'
	@touch $@

.venv/.dev: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP_INSTALL) -e '.[dev]'
	@touch $@

.venv-bench/.bench: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	$(BENCH_BIN)/python $(PIP_INSTALL) -e '.[benchmarks]'
	@touch $@
