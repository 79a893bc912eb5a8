# Two commands: `make lab` (install, open JupyterLab) and `make test` (everything).
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# JupyterLab does not start for root, the user of many a container, unless told so.
ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
export PATH := $(CURDIR)/$(BIN):$(PATH)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: lab test demo notebooks gallery docs dist ranges soak report venv system js lint lock clean

lab: venv
	$(BIN)/jupyter lab $(ROOT) notebooks/01-first-lowering.ipynb

test: venv system js lint demo
	$(BIN)/python -m pytest -n 2 --dist loadfile --nbval --nbval-current-env tests notebooks

demo: venv
	mkdir -p build
	$(BIN)/jupyter nbconvert --to notebook --execute --output-dir build notebooks/01-first-lowering.ipynb
	$(BIN)/python -m irwidget export notebooks/01-first-lowering.ipynb --html build/first-lowering.html

# Execute the tutorials again and keep their text and HTML, without widget state.
notebooks: venv
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace --ExecutePreprocessor.store_widget_state=False notebooks/*.ipynb

# All tutorials as one folder of offline, interactive pages.
gallery: venv
	$(BIN)/python docs/gallery.py notebooks build/gallery

docs: venv
	COLUMNS=100 $(BIN)/python docs/generate.py
	$(BIN)/sphinx-build --fresh-env --fail-on-warning --keep-going -b html docs build/docs

# A wheel and an sdist; tests/dist installs the wheel into a clean environment.
dist: venv
	$(BIN)/python -m build --no-isolation --outdir dist

# The oldest and the newest versions that pyproject.toml allows, each in an environment of its own, and the tests there.
ranges:
	$(PYTHON) tests/dist/ranges.py oldest build/oldest
	$(PYTHON) tests/dist/ranges.py newest build/newest

# Hundreds of random programs, crashes, interrupts, full disks; prints what it found.
soak: venv
	$(BIN)/python -m tests.soak

# Run every benchmark again and write the tables of the docs.
report: venv
	$(BIN)/python -m benchmarks.report

venv: .venv/.ready

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

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

lock: venv
	$(BIN)/python -m irwidget.toolchain.lock write

clean:
	rm -rf build dist js/node_modules .pytest_cache .ruff_cache
