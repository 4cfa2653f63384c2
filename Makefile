# One name per habit. `make course` and `make test` are all that a newcomer needs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := course
PYTHON ?= python3
PY := .venv/bin/python
# Two BLAS threads for small products cost more than they bring, most of all where two tests run at once.
export OPENBLAS_NUM_THREADS ?= 1
AUTOGRADER := $(PY) -m autograder
GRADES := _build/example-class

.PHONY: course test book notebooks release grade numbers truth redteam bench soak web gpu serve zip lock lint env system clean

course: book release                ## everything, from nothing: the environment, the book, the notebooks, a graded class
	@$(MAKE) --no-print-directory grade
	@echo "The book:      $(CURDIR)/_build/html/index.html"
	@echo "The notebooks: $(CURDIR)/exercises/"

test: book notebooks lint           ## all tests; a test that needs a missing system part says so and skips
	$(PY) -m pytest -n 2 --dist loadfile

book: env system _build/.inputs       ## build the book; warnings and failing cells are errors
	.venv/bin/jupyter-book build . -W -n --keep-going

# A page runs again when its code changes; when what the code imports or reads has changed, all of them do.
_build/.inputs: $(wildcard book/vit/*.py book/data/*.json book/data/*/*.json)
	rm -rf _build/.jupyter_cache
	@mkdir -p _build && touch $@

notebooks: book                     ## every chapter as a notebook for Jupyter, VS Code and Colab
	cd book && ../$(PY) -m vit.notebooks

release: env                        ## make exercises/ from the masters in solutions/, and the example class from both
	$(AUTOGRADER) release
	$(PY) examples/make_class.py

zip: env                            ## the students' folder as one file
	$(PY) -c "from pathlib import Path; from autograder.handout import write_zip; print(write_zip(Path('_build/exercises.zip')))"

grade: env system                   ## grade the example class
	$(AUTOGRADER) grade examples/class --out $(GRADES) --seed example

numbers: env                        ## every number of the book and what backs it
	cd book && ../$(PY) -m vit.numbers

truth: env                          ## test the tests: misconceptions, mutants, unusual right answers
	$(PY) -m autograder.truth

redteam: env system                 ## every hostile notebook against every jail here, and the points that it gained
	$(PY) -m tests.redteam

soak: env system                    ## the kill and fuzz tests at full length: a hundred kills, ten thousand inputs
	KILLS=100 FUZZ=10000 $(PY) -m pytest tests/test_batch.py tests/test_jail.py tests/test_notebook.py

bench: env system                   ## the grader beside nbgrader and otter, and the NumPy forward pass beside PyTorch's
	$(PY) -m benchmarks.grading
	cd book && ../$(PY) -m vit.bench

gpu: env                            ## measure ViTs on this machine's CUDA card, for chapter 10; says so where there is none
	cd book && ../$(PY) -m vit.gpu

web: book system                    ## how quick, small and accessible the pages are, in a real browser
	$(PY) -m tests.web

serve: book                         ## read the book at http://localhost:8000
	$(PY) -m http.server --directory _build/html --bind 127.0.0.1 8000

lint: env
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

lock: requirements.txt              ## resolve again and pin all that requirements.txt brings
	rm -rf .venv && $(PYTHON) -m venv .venv && $(PY) -m pip install --quiet -r requirements.txt
	$(PY) -m pip freeze | sed -e 's/+cpu$$//' > requirements.lock

env: .venv/.ready
.venv/.ready: requirements.txt requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt -c requirements.lock
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# What only the system can give: bubblewrap and libseccomp for the jail, chromium for the browser tests.
PACKAGES = $(shell command -v bwrap >/dev/null || echo bubblewrap) \
           $(shell command -v chromium chromium-browser google-chrome >/dev/null || echo chromium) \
           $(shell /sbin/ldconfig -p 2>/dev/null | grep -q libseccomp.so.2 || echo libseccomp2)
ROOT = $(shell [ "$$(id -u)" = 0 ] || (sudo -n true 2>/dev/null && echo sudo) || echo none)
system:
	@packages="$(strip $(PACKAGES))"; [ -n "$$packages" ] || exit 0; \
	if [ "$(ROOT)" != none ] && command -v apt-get >/dev/null; then \
	  $(ROOT) apt-get update -qq && $(ROOT) env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$packages >/dev/null; \
	else echo "Not installed: $$packages. Please run: sudo apt-get install $$packages"; fi

clean:                              ## remove what was built, not the environment
	rm -rf _build book/_web/dist
