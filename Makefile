# make demo   run the quickstart notebook and leave its report in out/
# make test   every check and every test; sets itself up on a fresh machine
# make gpu    the tests that need a GPU, where there is one
# make setup | check | bench | lab | clean   the parts, see below

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

PY := .venv/bin/python
# 3.11 first: it is where PyTorch has wheels beside the JAX that we compare it with.
PYTHONS := 3.11 3.12 3.13
OLDEST_JAX := 0.8.1
WORKERS ?= 2
PYTEST := -q -ra -n $(WORKERS) --dist worksteal
# What the other pairs leave out: a browser shows the same page whatever JAX wrote it, and what the
# notebooks and pages show has tests of its own.
PAIR := -m "not browser and not notebook and not page"
# On the same Python as the main pair: what asks little of JAX gives the same there.
PURE := --ignore=tests/view --ignore=tests/model --ignore=tests/bench \
    --ignore=tests/analysis/test_stats.py

.PHONY: setup demo test check test-main test-oldest test-newest gpu bench lab clean

setup: .venv/stamp

.venv/stamp: pyproject.toml tools/environment tools/pytorch
	@tools/environment .venv "$(PYTHONS)" -e '.[widget,plots,tables,bench,xprof]' --group test --group check
	@tools/pytorch .venv

.venv-oldest/stamp: pyproject.toml tools/environment
	@tools/environment .venv-oldest 3.11 -e . --group test \
	    jax==$(OLDEST_JAX) jaxlib==$(OLDEST_JAX)

.venv-newest/stamp: pyproject.toml tools/environment
	@tools/environment .venv-newest "3.13 3.12" -e . --group test --upgrade jax jaxlib

demo: .venv/stamp
	@mkdir -p out
	@rm -f out/quickstart.html
	@$(PY) tools/run_notebook.py demos/01_quickstart.ipynb
	@test -s out/quickstart.html || { echo "The notebook ran and left no out/quickstart.html." >&2; exit 1; }
	@echo "The report of the quickstart is $(CURDIR)/out/quickstart.html: open it in a browser."

test: check test-main test-oldest
	@echo "make test: every check and every test passed."

check: .venv/stamp
	@echo "== Checks"
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m pyright
	@.venv/bin/lint-imports --no-cache
	@echo "== Checks: passed"

test-main: .venv/stamp
	@tools/chromium
	@tools/pair .venv $(PYTEST)

test-oldest:
	@if tools/find_python 3.11 >/dev/null || .venv-oldest/bin/python -V >/dev/null 2>&1; then \
	    $(MAKE) --no-print-directory .venv-oldest/stamp; \
	    tools/pair .venv-oldest $(PYTEST) $(PAIR) $(PURE); \
	else \
	    echo "== Python 3.11 with jax $(OLDEST_JAX), the oldest declared pair, was NOT run: there is no Python 3.11 here."; \
	fi

# The newest declared pair; `.ci/run` makes sure that it is run where it can be.
test-newest: .venv-newest/stamp
	@tools/pair .venv-newest $(PYTEST) $(PAIR)

# JAX and PyTorch must be builds for the GPU: `pip install "jax[cuda13]" torch` in .venv first.
gpu: .venv/stamp
	@JAX_PLATFORMS= $(PY) -m pytest -q -ra -m gpu

bench: .venv/stamp
	@$(PY) -m bench
	@$(PY) -m bench.insert

lab: .venv/stamp
	@$(PY) -c 'import jupyterlab' 2>/dev/null || $(PY) -m pip install --quiet 'jupyterlab>=4.2'
	@$(PY) -m jupyterlab demos

clean:
	rm -rf out build dist test-results .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +
