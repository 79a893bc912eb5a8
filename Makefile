# Two commands: `make lab` (install, open JupyterLab) and `make test` (everything). `make help` lists the others.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Tests that import no PyTorch.
UNIT := tests/views tests/core/test_import.py tests/core/test_mlir.py tests/core/test_parsing.py tests/core/test_trace.py
# Without those that take half of their time: three, and the file whose experiments run in a worker.
BRIEF := not test_experimenting and not random_dumps and not a_program_for_spyre and not there_is_no_memory_for
# JupyterLab does not start for root, the user of many a container, unless told so.
ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
# Three at a time, since many wait for a browser or a process; a file by one of them. A worker that dies ends the run with
# its test's name.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadfile --max-worker-restart 0
export PATH := $(CURDIR)/$(BIN):$(PATH)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help lab test check format lint coverage exhaustive mutants unit browser-unit changed demo notebooks gallery docs dist ranges soak report venv system js js-dev mutants-js lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

lab: venv ## install everything, open JupyterLab
	$(BIN)/jupyter lab $(ROOT) notebooks/01-first-lowering.ipynb

test: venv system js lint demo ## install everything, run all tests
	$(PYTEST) --durations=60 --nbval --nbval-current-env tests notebooks

demo: venv ## lower the first notebook into build/first-lowering.html
	mkdir -p build
	$(BIN)/jupyter nbconvert --to notebook --execute --output-dir build notebooks/01-first-lowering.ipynb
	$(BIN)/python -m irwidget export notebooks/01-first-lowering.ipynb --html build/first-lowering.html

notebooks: venv ## execute the tutorials again, kept without widget state
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace --ExecutePreprocessor.store_widget_state=False notebooks/*.ipynb

gallery: venv ## all tutorials as one folder of offline pages
	$(BIN)/python docs/gallery.py notebooks build/gallery

docs: venv ## the documentation in build/docs
	COLUMNS=100 $(BIN)/python docs/generate.py
	$(BIN)/sphinx-build --fresh-env --fail-on-warning --keep-going -b html docs build/docs

dist: venv ## a wheel and an sdist in dist/; tests/dist installs the wheel into a clean environment
	$(BIN)/python -m build --no-isolation --outdir dist

ranges: ## the tests with the oldest and the newest versions that pyproject.toml allows
	$(PYTHON) tests/dist/ranges.py oldest build/oldest
	$(PYTHON) tests/dist/ranges.py newest build/newest

soak: venv ## hundreds of random programs, crashes, interrupts, full disks; prints what it found
	$(BIN)/python -m tests.soak

mutants: venv ## faults put into the core, one by one: which do the tests notice?
	$(BIN)/python -m tests.mutants

report: venv ## every benchmark again, into the tables of the docs
	$(BIN)/python -m benchmarks.report

venv: .venv/.ready ## the environment in .venv, as toolchain.lock pins it

# torch comes first: a release newer than the lock's would bring gigabytes of CUDA.
.venv/.ready: toolchain.lock pyproject.toml
	$(PYTHON) -m venv .venv || { echo "needs Python 3.11 with venv: apt-get install python3.11-venv"; exit 1; }
	$(PYTHON) irwidget/toolchain/lock.py hashed > .venv/hashed.txt
	$(PYTHON) irwidget/toolchain/lock.py pins > .venv/pins.txt
	$(PIP) "$$(grep '^torch==' .venv/pins.txt)"
	$(PIP) --no-deps --require-hashes -r .venv/hashed.txt
	$(PIP) -r .venv/pins.txt
	$(PIP) --no-deps --editable .
	touch $@

# What needs root: installed when it can be, otherwise named with the tests that it costs.
system:
	@sh tests/system.sh

js: venv
	npm --prefix js ci --no-audit --no-fund --silent
	npm --prefix js test

js-dev: venv js/node_modules ## JupyterLab whose views take the browser's code as it changes
	npm --prefix js run watch & trap "kill $$!" EXIT; \
	ANYWIDGET_HMR=1 $(BIN)/jupyter lab $(ROOT) notebooks/01-first-lowering.ipynb

mutants-js: venv js/node_modules ## single faults in js/src that the tests find; FILES=src/diff.ts for some
	npm --prefix js run mutants -- $(if $(FILES),--mutate $(FILES))

format: venv js/node_modules ## ruff and prettier
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .
	npm --prefix js run --silent format

lint: venv ## ruff, pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

js/node_modules: js/package-lock.json | venv
	npm --prefix js ci --no-audit --no-fund --silent
	touch $@

# What a commit can break at once: the format, lint and TypeScript of everything, the types of what it changes, the tests
# that need no torch. `make lint` and CI check all types, which takes 85 s.
CHANGED = $(shell { git diff --name-only --diff-filter=d HEAD; git ls-files --others --exclude-standard; } \
	| grep -E '^(irwidget|benchmarks)/.*\.pyi?$$')

check: venv js/node_modules ## format, lint, unit tests, types of changed files: before each commit
	@$(MAKE) --no-print-directory -j 2 unit browser-unit changed

changed: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(if $(CHANGED),$(BIN)/pyright $(CHANGED),@echo "no Python has changed since the last commit: no types to check")

unit: venv
	$(BIN)/python -m pytest -q -p no:cacheprovider $(UNIT) -k "$(BRIEF)"

browser-unit: venv js/node_modules
	npm --prefix js run --silent check

exhaustive: venv ## the tests with every row of their large tables
	$(PYTEST) -q --exhaustive tests

coverage: venv ## which lines the tests reach, in build/coverage
	$(PYTEST) -q --cov=irwidget --cov-report=html:build/coverage --cov-report=term tests

lock: venv
	$(BIN)/python -m irwidget.toolchain.lock write

clean:
	rm -rf build dist js/node_modules .pytest_cache .ruff_cache
