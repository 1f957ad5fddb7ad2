# The two commands a newcomer needs are `make demo` and `make test`; each installs what it needs.
# The package is installed as users get it, not linked, and again whenever a source file changes.
PYTHON ?= python3
BIN := .venv/bin
# One process for each core, four at most (each compiles kernels of its own at first); an idle one takes over tests.
PYTEST := $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal
SOURCES := pyproject.toml README.md $(shell find src examples -type f ! -name '*.pyc')

.PHONY: demo compare test test-all lint bench docs dist browser calculix clean

demo: .venv/package.stamp
	$(BIN)/limber demo

# the tables and pictures of docs/guide/comparison.md; model predictive control needs the extras of the tests
compare: .venv/package.stamp .venv/test.stamp
	$(BIN)/limber compare --out docs/guide/pictures --page docs/guide/comparison.md

test: .venv/package.stamp .venv/test.stamp browser
	$(BIN)/python tests/compile_kernels.py
	$(PYTEST)

# the same, the long sweeps of random systems, more examples of the others, and what needs JAX, PyTorch, Dask or other programs
test-all: .venv/package.stamp .venv/test-all.stamp browser calculix
	$(BIN)/python tests/compile_kernels.py
	LIMBER_EXAMPLES=25 $(PYTEST) -m 'slow or not slow'

lint: .venv/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache

bench: .venv/package.stamp .venv/test.stamp
	$(BIN)/python benchmarks/run.py

# the site in build/docs/index.html: guides, gallery, reference; a warning is an error
docs: .venv/package.stamp .venv/docs.stamp
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html -d build/doctrees docs build/docs
	@echo "the site is build/docs/index.html"

# wheel and source archive in dist/, checked: what they hold, their metadata, and that the wheel runs
dist: .venv/dist.stamp
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/check_dist.py dist

# for the tests of reports, which are skipped without
browser:
	@sh tests/install-program.sh "chromium fonts-dejavu-core" chromium chromium-browser google-chrome google-chrome-stable

# for the tests of its files, likewise
calculix:
	@sh tests/install-program.sh "calculix-ccx calculix-ccx-test" ccx

clean:
	rm -rf .venv build dist out

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/package.stamp: .venv/bin/python $(SOURCES)
	$(BIN)/python -m pip install --quiet .
	touch $@

.venv/test.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet '.[test]'
	touch $@

# the robots need their files alone, not the programs that their package asks for
.venv/test-all.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet '.[test-all]'
	$(BIN)/python -m pip install --quiet --no-deps example-robot-data==6.0.0
	touch $@

.venv/docs.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet '.[docs]'
	touch $@

.venv/dist.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet '.[dist]'
	touch $@

.venv/lint.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet '.[lint]'
	touch $@
