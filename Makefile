# make demo   run the quickstart notebook and leave its report in out/
# make test   every check and every test but those of `make demos`; sets itself up on a fresh machine
# make demos  runs every demo notebook and the examples of every page, from top to bottom
# make quick  after every edit: the tests that compile no JAX program, in under a minute on two cores
# make golden rebuild what is derived from code: schemas, the viewer's types, golden files
# make docs   the documentation as a site, in out/site; loads nothing from the network
# make gpu    the tests that need a GPU, and the measurements of one, where there is one
# make mutants  small bugs put into the code, and whether the tests notice; not in CI
# make setup | check | bench | lab | clean   the parts, see below

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

PY := .venv/bin/python
# 3.11 first: it is where PyTorch has wheels beside the JAX that we compare it with.
PYTHONS := 3.11 3.12 3.13
OLDEST_JAX := 0.8.1
WORKERS ?= 2
# One more on the main pair, where tests wait for kernels, pages, clusters and time limits.
MAIN_WORKERS ?= 3
PYTEST := -q -ra --dist worksteal
# What `make demos` runs.
SHOWN := notebook or page or optimizer
# What the other pairs leave out: a browser shows the same page whatever JAX wrote it, what the
# notebooks and pages show has tests of its own, and there is one package, one text and one set of
# tools for all.
PAIR := -m "not browser and not package and not ($(SHOWN))" --ignore=tests/tools \
    --ignore=tests/measurements --ignore=tests/test_house.py --ignore=tests/test_vocabulary.py \
    --ignore=tests/test_words.py --ignore=tests/docs/test_architecture.py
# What asks little of JAX gives the same there: on the oldest pair, whose Python is that of the main
# pair, and on the newest where it takes long.
LONG := --ignore=tests/view --ignore=tests/bench/test_processes.py --ignore=tests/magics/cells/test_generated_cells.py \
    --ignore=tests/magics/transforms/test_transforms_property.py \
    --ignore=tests/magics/trying/test_trying_bad_input.py
PURE := --ignore=tests/model --ignore=tests/analysis --ignore=tests/results \
    --ignore=tests/frontend --ignore=tests/docs --ignore=tests/bench --ignore=tests/magics/trying \
    --ignore=tests/magics/options --ignore=tests/magics/cells/test_names_and_out.py \
    --ignore=tests/magics/cells/test_function_form.py \
    --ignore=tests/magics/test_benchmarking.py --ignore=tests/sessions/test_bad_input.py
# What the main pair leaves to the other two, whose JAX is older and newer than its own: each private
# name of JAX that is gone.
MAIN := -m "not ($(SHOWN))" --ignore=tests/capture/compiles/test_canary_names.py \
    --deselect=tests/sessions/test_faults.py::test_no_private_name_of_jax_is_needed_for_a_cell \
    --deselect=tests/magics/transforms/test_transforms_forms.py::test_no_private_name_of_jax_is_needed_for_a_transformed_cell
# Programs compile faster, and their HLO is the same; `make demos` runs all of LLVM.
FAST_LLVM := --xla_backend_optimization_level=0
QUICK := tests/model tests/analysis tests/view tests/docs tests/frontend tests/measurements \
    tests/tools/test_golden.py tests/test_house.py tests/test_jax_import.py tests/test_words.py \
    tests/test_vocabulary.py
NO_JAX := not jax and not kernel and not notebook and not page

.PHONY: setup front-end demo test check check-python check-viewer quick golden test-main \
    test-oldest test-newest demos gpu bench docs mutants lab clean

setup: front-end

# The viewer: built again where its sources have changed, and linked into .venv, since an editable
# install gives JupyterLab no extension.
front-end: .venv/stamp
	@$(PY) tools/front_end.py build

.venv/stamp: pyproject.toml tools/environment tools/pytorch
	@tools/environment .venv "$(PYTHONS)" -e '.[widget,plots,tables,bench,xprof,asm,cluster,dask]' --group test --group check
	@tools/pytorch .venv
	@touch $@

# What the quickstart needs, on a machine where nothing else is set up yet.
.venv/demo: pyproject.toml tools/environment
	@tools/environment .venv "$(PYTHONS)" -e '.[widget,plots,tables]' --group demo
	@touch $@

.venv-oldest/stamp: pyproject.toml tools/environment
	@tools/environment .venv-oldest 3.11 -e . --group test \
	    jax==$(OLDEST_JAX) jaxlib==$(OLDEST_JAX)
	@touch $@

.venv-newest/stamp: pyproject.toml tools/environment
	@tools/environment .venv-newest "3.13 3.12" -e . --group test --upgrade jax jaxlib
	@touch $@

demo: $(if $(wildcard .venv/stamp),.venv/stamp,.venv/demo)
	@$(PY) tools/front_end.py build
	@mkdir -p out
	@rm -f out/quickstart.html
	@$(PY) tools/run_notebook.py demos/01_quickstart.ipynb
	@test -s out/quickstart.html || { echo "The notebook ran and left no out/quickstart.html." >&2; exit 1; }
	@echo "The report of the quickstart is $(CURDIR)/out/quickstart.html: open it in a browser."

# On the main pair of Python and JAX; `.ci/run` adds the oldest and the newest.
test: check test-main
	@echo "make test: passed; make demos runs the notebooks and the examples of the pages."

check: .venv/stamp
	@echo "== Checks"
	@$(MAKE) --no-print-directory -j 2 check-python check-viewer
	@echo "== Checks: passed"

check-python:
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@.venv/bin/lint-imports --no-cache
	@$(PY) -m pyright
	@$(PY) -m pyright -p measurements

check-viewer:
	@$(PY) tools/front_end.py check

# No JAX backend has this name: a test that compiles says how to mark it.
quick: .venv/stamp
	@JAX_PLATFORMS=mark_this_test_with_jax $(PY) -m pytest -q -n $(WORKERS) --dist worksteal \
	    -m "$(NO_JAX)" --ignore=tests/view/browser $(QUICK)
	@$(PY) tools/front_end.py test

# Tests compare each of these files, and name this command where one is out of date.
golden: .venv/stamp
	@$(PY) tools/golden.py

test-main: front-end
	@tools/chromium
	@JAXSCOPE_THIRDS_OF_CELLS=0 XLA_FLAGS="$(FAST_LLVM)" \
	    tools/pair .venv $(PYTEST) -n $(MAIN_WORKERS) $(MAIN)

# Each takes seconds to a minute, most of it in a kernel.
demos: front-end
	@tools/pair .venv $(PYTEST) -n $(MAIN_WORKERS) -m "$(SHOWN)" tests/docs tests/experiments

# The oldest declared pair.
test-oldest:
	@if tools/find_python 3.11 >/dev/null || .venv-oldest/bin/python -V >/dev/null 2>&1; then \
	    $(MAKE) --no-print-directory .venv-oldest/stamp; \
	    JAXSCOPE_THIRDS_OF_CELLS=1 XLA_FLAGS="$(FAST_LLVM)" \
	        tools/pair .venv-oldest $(PYTEST) -n $(WORKERS) $(PAIR) $(LONG) $(PURE); \
	else \
	    echo "== Python 3.11 with jax $(OLDEST_JAX), the oldest declared pair, was NOT run: there is no Python 3.11 here."; \
	fi

# The newest declared pair.
test-newest: .venv-newest/stamp
	@JAXSCOPE_THIRDS_OF_CELLS=2 XLA_FLAGS="$(FAST_LLVM)" \
	    tools/pair .venv-newest $(PYTEST) -n $(WORKERS) $(PAIR) $(LONG)

# JAX and PyTorch must be builds for the GPU: `pip install "jax[cuda13]" torch` in .venv first.
gpu: .venv/stamp
	@JAX_PLATFORMS= $(PY) -m pytest -q -ra -m gpu
	@JAX_PLATFORMS= $(PY) -m measurements --gpu

bench: front-end
	@$(PY) -m measurements
	@$(PY) -m measurements.insert

.venv/docs: .venv/stamp
	@$(PY) -m pip install -qq -e '.[docs]'
	@touch $@

# A link that leads nowhere, a page outside the navigation and a docstring that is missing are errors.
docs: front-end .venv/docs
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs --quiet build
	@echo "The site is $(CURDIR)/out/site/index.html."

# A seeded sample; writes docs/measured/mutants/sample.json. Takes an hour or two; goes on where it ended.
MUTANTS ?= 200
mutants: .venv/stamp
	@$(PY) tools/mutants.py --number $(MUTANTS)

lab: front-end
	@$(PY) -m jupyterlab demos

clean:
	rm -rf out build dist test-results jaxscope/static labextension/dist labextension/lib .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +
