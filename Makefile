# The README's two commands are `make demo` and `make test`; each does all of its own set-up and may be run again.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TORCH := 2.13.0
SOURCES := $(shell find src native docs/rules docs/findings -type f -not -name '*.pyc' 2>/dev/null)
WORKERS ?= auto

.PHONY: demo demo-cloud test slow check bench conformance clean help

help:
	@sed -n 's/^## //p' Makefile

## make demo    migrate the example, train it on an emulated NPU, compare with the CPU, show the report
demo: $(VENV)/jumar
	@$(BIN)/python tools/demo.py

## make demo-cloud  a MindSpore script becomes a job on 1 and 2 devices of the local stand-in, and its result comes back
demo-cloud: $(VENV)/jumar $(VENV)-mindspore/done
	@$(BIN)/python tools/demo_cloud.py $(VENV)-mindspore/bin/python

## make test    lint, types and the whole test suite
test: $(VENV)/jumar check
	@rm -rf .pytest_cache
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" || \
	  { echo "make: what failed runs once more, alone: a busy machine is no excuse then"; \
	    $(BIN)/python -m pytest -m "not slow" --last-failed --last-failed-no-failures none -p no:randomly; }

## make slow    the tests that `make test` leaves out: sanitizer builds, many processes at once
slow: $(VENV)/jumar
	$(BIN)/python -m pytest -m slow

## make conformance DIR=…  a folder of op-plugin's or torch_npu's own tests on the emulator
conformance: $(VENV)/jumar
	$(BIN)/python tools/conformance.py $(DIR)

## make check   lint, types and generated pages only
check: $(VENV)/jumar
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/generate.py --check

## make bench   the benchmarks (a table each; ratios, not limits)
bench: $(VENV)/jumar
	$(BIN)/python bench/migrate.py
	$(BIN)/python bench/start.py
	$(BIN)/python bench/emulate.py
	$(BIN)/python bench/hccl.py
	$(BIN)/python bench/launch.py
	$(BIN)/python bench/doctor.py
	$(BIN)/python bench/explain.py
	$(BIN)/python bench/transfer.py
	$(BIN)/python bench/compare.py
	$(BIN)/python bench/perf.py
	$(BIN)/python bench/export.py
	$(BIN)/python bench/parallel.py

## make clean   remove everything that the other targets made
clean:
	rm -rf $(VENV) $(VENV)-mindspore build dist out .pytest_cache .ruff_cache .mypy_cache .hypothesis

$(VENV)/torch: Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Jumar needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@# Exactly this version and before anything that depends on torch: a range would fetch gigabytes of CUDA packages.
	$(PIP) torch==$(TORCH)
	$(PIP) torch_npu==$(TORCH) numpy pyyaml
	@touch $@

$(VENV)/packages: $(VENV)/torch pyproject.toml
	$(PIP) '.[emulator,dev]'
	@touch $@

$(VENV)/jumar: $(VENV)/packages CMakeLists.txt $(SOURCES)
	$(PIP) --force-reinstall --no-deps .
	@touch $@

$(VENV)-mindspore/done:
	$(PYTHON) -m venv $(VENV)-mindspore
	$(VENV)-mindspore/bin/python -m pip install --quiet --disable-pip-version-check 'numpy<2' mindspore==2.10.0
	@touch $@
