# make book · make serve · make lab · make test · make bench        (make alone lists them)
#
# The recipes name nothing but relative paths, so a folder may be called what it likes.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:

python := .venv/bin/python
# The environment's own packages and kernel, whatever else a person has installed; UTF-8 everywhere.
export PYTHONNOUSERSITE := 1
export PYTHONUTF8 := 1
export JUPYTER_PREFER_ENV_PATH := 1
# It would undo the line on UTF-8.
unexport PYTHONIOENCODING
unexport PYTHONPATH
unexport PYTHONHOME
unexport JUPYTER_PATH
# Packages are compiled when they are first imported; without a place to keep that, at every import.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help environment native book serve lab notebooks test links zip print bench measured clean

help:
	@echo 'make book       set up, run every notebook, build the pages'
	@echo 'make serve      the same, then show them on this machine (127.0.0.1)'
	@echo 'make lab        open the notebooks in JupyterLab'
	@echo 'make test       everything that must hold; PART="unit style" runs some parts only'
	@echo 'make native     compile the head in C and C++, where there is a compiler'
	@echo 'make links      ask every address that the pages link to'
	@echo 'make zip        pack the pages into one file for people without a network'
	@echo 'make print      print every page, and the whole book, as PDF'
	@echo 'make bench      measurements, side by side'
	@echo 'make measured   time and memory, stored for the page that shows them'
	@echo 'make notebooks  run the notebooks and write their outputs into the files'
	@echo 'make clean      remove the environment and everything built'

# .venv, made by the first Python found that is new and old enough.
environment:
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	  "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	    2>/dev/null && exec "$$python" tools/environment.py; \
	done; \
	echo 'set-up failed: Python 3.11, 3.12 or 3.13 is needed (say which: make PYTHON=/path/to/python)' >&2; \
	exit 1

native: environment
	@$(python) native/building.py

book: environment native
	@$(python) tools/book.py

serve: book
	@$(python) tools/serve.py

lab: environment native
	@$(python) tools/lab.py

notebooks: environment native
	@$(python) tools/exercises.py write
	@$(python) tools/notebooks.py run

test: environment
	@$(python) tools/suite.py $(PART)

links: environment
	@$(python) tools/book.py --links

# One file for people without a network, and the book on paper; of the pages that are built.
zip: book
	@$(python) tools/offline.py

print: book
	@$(python) tools/printing.py

bench: environment
	@$(python) -m pip install --quiet --no-deps --upgrade --target _build/peers \
	  -r benchmarks/peers.txt || echo 'the other tracers could not be fetched: they are left out'
	@$(python) benchmarks/attention.py
	@$(python) benchmarks/memory.py
	@$(python) benchmarks/tracing.py
	@$(python) benchmarks/pages.py

# The numbers that the page Measured shows: on a machine that has nothing else to do.
measured: environment
	@$(python) -m pip install --quiet --no-deps --upgrade --target _build/peers \
	  -r benchmarks/peers.txt || echo 'the other tracers could not be fetched: they are left out'
	@$(python) benchmarks/tracing.py --store
	@$(python) benchmarks/pages.py --store
	@$(python) benchmarks/record.py

clean:
	rm -rf .venv _build .mypy_cache .pytest_cache .ruff_cache .hypothesis
