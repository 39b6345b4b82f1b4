# Sets up .venv on first use: `make demo` with the little that it needs, most others with everything. The machine needs
# python3, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIGHT := $(VENV)/.demo-ready
READY := $(VENV)/.ready
DOCS := $(VENV)/.docs-ready

# Where it is set, every process would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: models demo picture browser test test-fast torture lint bench simulate docs stub nli strong tracker experiments clean

# The embedded models, into the cache folder: once; after that they are only verified.
models: $(READY)
	$(BIN)/troth models fetch

# The four questions on bundled dialogues: five lines, and a page whose address is printed last. Installs what that needs,
# without torch; only the installation asks the network.
demo: $(LIGHT)
	@$(BIN)/troth demo

# The pictures of the README and the documentation, from the demo.
picture: models browser
	$(BIN)/python -m tests.browser.picture

# Chromium for the tests of the page: Debian's package, if it is missing and can be installed; else they are skipped.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	     && { apt-get install -y chromium || { apt-get update && apt-get install -y chromium; }; } >/dev/null 2>&1; } \
	|| echo "Chromium is missing and cannot be installed: the tests in tests/browser will be skipped"

# One thread for each worker of pytest: with more, they would wait for each other. The order is that of tests/conftest.py.
test: export OMP_NUM_THREADS = 1
test: models browser
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder --durations=25

# The tests that need neither models nor a browser nor the data folder, for use while developing.
test-fast: $(READY)
	$(BIN)/pytest -n auto --dist loadfile -m "not slow and not shared"

# Ten minutes of kills, damaged files, hostile archives and servers, by a seed; `make test` has a small part of it.
torture: $(READY)
	$(BIN)/python -m tests.torture --minutes 10 --seed 1

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: models
	$(BIN)/python -m benchmarks

# How often intervals cover and tests err, by simulation: the table of docs/statistics.md, in some minutes.
simulate: $(READY)
	$(BIN)/python -m benchmarks.simulation

# Builds the documentation site into site/; any warning is an error. Needs neither the models nor the test packages.
docs: $(DOCS)
	$(BIN)/python -m docs_build

# The types of `import troth` for editors and type checkers, from the settings of the tasks.
stub: $(READY)
	$(BIN)/python -m docs_build.stub

# Trains the embedded entailment model: two hours on two cores; resumes after a stop. See training/nli.
nli: models
	$(BIN)/python -m training.nli

# Trains the strong entailment model: two hours on two cores, or as many as HOURS says; resumes after a stop.
strong: models
	$(BIN)/python -m training.nli --strong --hours $(or $(HOURS),2)

# Trains the embedded trackers: some hours on two cores; resumes after a stop. See training/tracker.
tracker: models
	$(BIN)/python -m training.tracker

# The papers' experiments at a size for two cores: some hours; resumes after a stop. See docs/experiments.md.
experiments: models
	for name in sgdx checkdst checkdst_epochs prefine sgsacc_ser history words pmi_decode sgsacc_table1 transfer; do $(BIN)/python -m experiments.$$name || exit 1; done

# uv needs an eighth of pip's time, but does not know pip's settings (an index, a folder of wheels): if it fails, pip tries.
$(LIGHT): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile uv \
	&& $(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[nli,text]' \
	|| $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-compile -e '.[nli,text]'
	touch $@

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(LIGHT) $@

$(DOCS): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) build site troth-demo .cache .bench .nli .mypy_cache .pytest_cache .ruff_cache .hypothesis
