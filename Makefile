# Two commands matter: `make certify` judges a broker, `make test` tests this project.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

TARGET ?= embedded
LEVEL  ?= should
SECONDS ?= 60

.PHONY: certify test lint bench fuzz clean

certify: $(READY)
	@$(BIN)/amqp-conformance run --target '$(TARGET)' --level '$(LEVEL)'

test: $(READY) lint
	$(BIN)/pytest -q -n 2 --dist=loadfile

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: set PYTHON=…") if sys.version_info < (3, 11) else None'
	@echo "setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

fuzz: $(READY)
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[fuzz]'
	@$(BIN)/python -m harness.amqp0_9_1.fuzz --seconds $$(($(SECONDS) * 3 / 5))
	@$(BIN)/python -m conformance.fuzz --seconds $$(($(SECONDS) * 2 / 5))

bench: $(READY)
	@$(BIN)/python -m conformance.benchmark $(JSON)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
