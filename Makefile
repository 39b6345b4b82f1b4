# Everything is set up on a machine that has python3, pip and make, into .venv, on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: models demo test lint bench clean

# The embedded models, into the cache folder: once, then this takes no time.
models: $(READY)
	$(BIN)/troth models fetch

demo: models
	$(BIN)/troth demo

test: models
	$(BIN)/pytest -n auto

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .bench .mypy_cache .pytest_cache .ruff_cache .hypothesis
