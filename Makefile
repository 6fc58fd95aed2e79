# Two commands matter: `make certify` judges a broker, `make test` tests this project.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Judging needs neither Spark nor Java: its tests run where there is neither.
PLAIN  := .venv-plain
JUDGING := $(sort $(shell find spec harness scenarios conformance -type d -name tests))
REPORTS := $(sort $(shell find reports -type d -name tests))
# The tests start hundreds of short processes, each of which would compile all modules anew where that is not kept.
unexport PYTHONDONTWRITEBYTECODE
# A file's tests share what they start. Files begin in the order of the tests, those that take minutes first.
WHOLE_FILES := --dist=loadfile --no-loadscope-reorder

# uv is pip in a third of the time. It knows nothing of what pip alone is told (an index of one's own), so pip is there.
comma := ,
install = $(BIN)/uv pip install --quiet --python $(1) --editable '$(2)' || \
	$(1)/bin/pip install --quiet --disable-pip-version-check --no-compile --editable '$(2)'

TARGET ?= embedded
SECONDS ?= 60

.PHONY: certify test judging reports endurance dictionary lint bench bench-judging bench-warehouse bench-fleet fuzz clean

certify: $(READY)
	@$(BIN)/amqp-conformance certify --target '$(TARGET)' $(if $(LEVEL),--level '$(LEVEL)')

# Side by side: most of judging is waiting for brokers, and the rest is not.
test:
	@$(MAKE) --no-print-directory --jobs 3 judging reports lint

judging: $(PLAIN)/.ready
	PATH="$(CURDIR)/$(PLAIN)/bin:$$PATH" JAVA_HOME= $(PLAIN)/bin/pytest -q -rs -n 3 $(WHOLE_FILES) $(JUDGING)

reports: $(READY)
	$(BIN)/pytest -q -rs $(REPORTS)

# For releases: all of what the tests above try a sample of. At the end stands what was run, and for how long.
endurance: $(READY)
	AMQP_CONFORMANCE_ENDURANCE=1 AMQP_CONFORMANCE_REQUIRE_BROKERS=1 $(BIN)/pytest -v -m endurance --durations=0 \
		--durations-min=0.1 -n 2 $(WHOLE_FILES) $(JUDGING) $(REPORTS)

# What each known fault turns red: after every change of deviations or checks.
dictionary: $(READY)
	$(BIN)/amqp-conformance dictionary --output conformance/causes/dictionary.json.xz

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: set PYTHON=…") if sys.version_info < (3, 11) else None'
	@echo "setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-compile uv
	@$(call install,$(VENV),.[dev$(comma)spark])
	@touch $@

# One after the other: the second finds kept what the first has fetched.
$(PLAIN)/.ready: pyproject.toml | $(READY)
	@echo "setting up $(PLAIN), without Spark and Java …"
	@$(PYTHON) -m venv $(PLAIN)
	@$(call install,$(PLAIN),.[dev])
	@printf '#!/bin/sh\necho "Java is not to be needed here" >&2\nexit 1\n' > $(PLAIN)/bin/java
	@chmod +x $(PLAIN)/bin/java
	@if $(PLAIN)/bin/python -c 'import pyspark' 2>/dev/null; then echo "$(PLAIN) has PySpark" >&2; exit 1; fi
	@touch $@

fuzz: $(READY)
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[fuzz]'
	@$(BIN)/python -m harness.amqp0_9_1.trials.fuzz --seconds $$(($(SECONDS) / 4))
	@$(BIN)/python -m harness.amqp1_0.trials.fuzz --seconds $$(($(SECONDS) / 4))
	@$(BIN)/python -m harness.amqp_fast.trials.fuzz --seconds $$(($(SECONDS) / 4))
	@$(BIN)/python -m conformance.trials.fuzz --seconds $$(($(SECONDS) / 4))

bench: bench-judging bench-warehouse

bench-judging: $(READY)
	@$(BIN)/python -m conformance.trials.benchmark $(JSON)
	@$(BIN)/python -m conformance.trials.diagnosis
	@$(BIN)/python -m conformance.trials.growth

bench-warehouse: $(READY)
	@$(BIN)/python -m reports.trials.benchmark $(if $(RUNS),--runs $(RUNS))

# A million runs take half an hour and 55 GB in SCRATCH.
bench-fleet: $(READY)
	@$(BIN)/python -m reports.trials.fleet $(if $(RUNS),--runs $(RUNS)) $(if $(SCRATCH),--scratch $(SCRATCH))

clean:
	rm -rf $(VENV) $(PLAIN) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
