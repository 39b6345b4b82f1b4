# Everything is set up on a machine that has python3, pip and make, into .venv, on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS := $(VENV)/.docs-ready

.PHONY: models demo picture browser test lint bench docs nli clean

# The embedded models, into the cache folder: once, then this takes no time.
models: $(READY)
	$(BIN)/troth models fetch

# Everything on bundled dialogues, offline: five lines, and a page whose address is the last one.
demo: models
	@$(BIN)/troth demo

# The pictures of the README and the documentation, from the demo.
picture: models browser
	$(BIN)/python -m tests.browser.picture

# Chromium, for the tests of the page: Debian's, where it is missing and can be had; else those tests are skipped.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	     && { apt-get install -y chromium || { apt-get update && apt-get install -y chromium; }; } >/dev/null 2>&1; } \
	|| echo "no Chromium here, and none to be had: the tests in tests/browser will be skipped"

test: models browser
	$(BIN)/pytest -n auto

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: models
	$(BIN)/python -m benchmarks

# The documentation as a site, into site/: any warning is a failure. Needs neither the models nor what tests need.
docs: $(DOCS)
	$(BIN)/python -m docs_build

# The embedded entailment model, from its data: two hours on two cores; stopped, it goes on. See training/nli.
nli: models
	$(BIN)/python -m training.nli

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

$(DOCS): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) build site troth-demo .cache .bench .nli .mypy_cache .pytest_cache .ruff_cache .hypothesis
