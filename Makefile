# Everything runs in .venv, which make creates; needed beforehand: Python >= 3.11, a C++ compiler, make.
# "make" alone lists the targets.

PYTHON ?= python3
CORES  := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
UV     := $(shell command -v uv 2>/dev/null)

VENV := .venv
BIN  := $(VENV)/bin

# Only the environments below; nothing from the caller's. Bytecode is kept, since tests start hundreds of programs,
# but of what is imported alone: most of what is installed never is.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE UV_COMPILE_BYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(CORES)

ifdef UV
create_environment = $(UV) venv --quiet --allow-existing --python $(PYTHON) $(1)
install_into       = $(UV) pip install --quiet --python $(1)/bin/python
else
create_environment = $(PYTHON) -m venv $(1) && $(1)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
install_into       = $(1)/bin/python -m pip install --quiet --no-compile
endif

# $(call runtime_requirements,ENVIRONMENT,EXTRA): what the package needs to run, without building it
runtime_requirements = $(1)/bin/python -c 'import tomllib; \
    project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
    print(*project["dependencies"], *project["optional-dependencies"]["$(2)"], sep="\n")' > $(1)/requirements.txt

# $(call install_package,ENVIRONMENT,SETTINGS): compile what changed and install in place
install_package = $(install_into) --no-build-isolation --no-deps -C cmake.define.MAXMARGIN_WERROR=ON $(2) -e .

# Where the package is compiled, and the C++ tests with it: they link the same object files.
BUILD := build/python

CPP_FILES   := $(shell find cpp -name '*.cpp' -o -name '*.hpp')
BUILD_FILES := CMakeLists.txt $(filter-out cpp/tests/%,$(CPP_FILES))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

# ---------------------------------------------------------------- environment and build

$(VENV)/.environment: pyproject.toml
	@echo "setting up $(VENV)"
	@$(call create_environment,$(VENV))
	@$(call runtime_requirements,$(VENV),plots)
	@$(call install_into,$(VENV)) --group build -r $(VENV)/requirements.txt
	@touch $@

$(VENV)/.built: $(VENV)/.environment $(BUILD_FILES)
	@echo "building maxmargin"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(call install_package,$(VENV),\
	    -C build-dir=$(BUILD) -C cmake.define.MAXMARGIN_CPP_TESTS=ON)
	@touch $@

$(VENV)/.tools: $(VENV)/.environment
	@echo "installing the test and lint tools"
	@$(call install_into,$(VENV)) --group test --group lint
	@touch $@

.PHONY: build
build: $(VENV)/.built ## compile and install the package into .venv

.PHONY: demo
demo: $(VENV)/.built ## train on a data set that ships with the package, draw it and save the model
	@$(BIN)/maxmargin demo
	@echo "       (in this folder the program is $(BIN)/maxmargin)"

# ---------------------------------------------------------------- checks

PYTEST := $(BIN)/python -m pytest -n 2 --dist loadgroup

# What the order of sums could change: contracts, and the numbers that the documentation shows.
CONTRACTS := tests/contracts tests/unit/test_examples.py

# Tools are installed, and style and types checked, while C++ is compiled.
check_all_but_python = @$(MAKE) --no-print-directory --jobs=2 lint check-cpp

.PHONY: test
test: ## lint, C++ tests and Python tests
	$(check_all_but_python)
	$(PYTEST)

.PHONY: test-all
test-all: ## the same with the slow tests, and the contracts on every instruction set of this machine
	$(check_all_but_python)
	@$(MAKE) --no-print-directory $(VENV)/.docs
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-all} $(PYTEST) -m "slow or not slow"
	@set -e; for cpu in $$($(BIN)/python -c 'from maxmargin._core import available_cpus; print(*available_cpus())'); do \
	    echo "contracts, MAXMARGIN_CPU=$$cpu"; MAXMARGIN_CPU=$$cpu $(PYTEST) $(CONTRACTS); done

.PHONY: test-baseline
test-baseline: $(VENV)/.built $(VENV)/.tools ## the contracts as on a processor without AVX2
	MAXMARGIN_CPU=baseline $(PYTEST) $(CONTRACTS)

.PHONY: lint
lint: $(VENV)/.tools ## style, types, layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(CPP_FILES)
	$(BIN)/codespell

.PHONY: format
format: $(VENV)/.tools ## rewrite Python and C++ files in the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP_FILES)

# $(call cpp_tests,BUILD DIRECTORY,CMAKE OPTIONS): build the C++ tests, without Python
cpp_tests = $(BIN)/cmake -S . -B $(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja --log-level=WARNING \
    -DMAXMARGIN_PYTHON=OFF -DMAXMARGIN_CPP_TESTS=ON -DMAXMARGIN_WERROR=ON $(2) > $(1).log \
    && $(BIN)/cmake --build $(1) --target maxmargin_tests --parallel $(CORES) -- --quiet

.PHONY: check-cpp
check-cpp: $(VENV)/.built ## C++ tests
	@$(BIN)/cmake --build $(BUILD) --target maxmargin_tests --parallel $(CORES) -- --quiet
	@# A weak symbol compiled for a newer processor could be the copy that the linker keeps for all.
	@! nm -A $(BUILD)/CMakeFiles/maxmargin_primitives_*/cpp/src/primitives/*.cpp.o | grep ' [WVu] '
	$(BUILD)/maxmargin_tests

# ---------------------------------------------------------------- sanitizers

comma         := ,
ASAN_VENV     := .venv-asan
ASAN_PRELOAD   = $(shell for l in libasan.so libubsan.so libstdc++.so.6; do $${CXX:-g++} -print-file-name=$$l; done)
TSAN_SETTINGS := suppressions=$(CURDIR)/cpp/tests/tsan.suppressions:die_after_fork=0:halt_on_error=1

.PHONY: sanitize
sanitize: sanitize-cpp sanitize-python ## C++ tests under ASan, UBSan and TSan, then the Python tests under ASan

.PHONY: sanitize-cpp
sanitize-cpp: $(VENV)/.environment
	@mkdir -p build
	@$(call cpp_tests,build/cpp-asan,-DMAXMARGIN_SANITIZE=address$(comma)undefined)
	build/cpp-asan/maxmargin_tests
	@$(call cpp_tests,build/cpp-tsan,-DMAXMARGIN_SANITIZE=thread)
	TSAN_OPTIONS="$(TSAN_SETTINGS)" build/cpp-tsan/maxmargin_tests

$(ASAN_VENV)/.built: pyproject.toml $(BUILD_FILES)
	@$(call create_environment,$(ASAN_VENV))
	@$(call runtime_requirements,$(ASAN_VENV),plots)
	@$(call install_into,$(ASAN_VENV)) --group build --group test -r $(ASAN_VENV)/requirements.txt
	@PATH="$(CURDIR)/$(ASAN_VENV)/bin:$$PATH" $(call install_package,$(ASAN_VENV),\
	    -C "cmake.define.MAXMARGIN_SANITIZE=address$(comma)undefined" -C "build-dir=build/asan-{wheel_tag}")
	@touch $@

.PHONY: sanitize-python
sanitize-python: $(ASAN_VENV)/.built
	LD_PRELOAD="$(ASAN_PRELOAD)" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
	    $(ASAN_VENV)/bin/python -m pytest -n 2 --dist loadgroup --ignore tests/architecture --ignore tests/browser

# ---------------------------------------------------------------- hostile input

FUZZ_CXX ?= clang++
MAXMARGIN_FUZZ_SECONDS ?= 60

.PHONY: fuzz
fuzz: fuzz-cpp fuzz-python ## any bytes into the readers: libFuzzer for MAXMARGIN_FUZZ_SECONDS, then the property tests

.PHONY: fuzz-cpp
fuzz-cpp: $(VENV)/.environment
	@mkdir -p build/fuzz build/fuzz-corpus
	@echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' > build/fuzz/try.cpp
	@$(FUZZ_CXX) -fsanitize=fuzzer,address,undefined build/fuzz/try.cpp -o build/fuzz/try 2> build/fuzz/try.log || \
	    { echo "make fuzz needs clang with libFuzzer and sanitizers, and $(FUZZ_CXX) is not that (build/fuzz/try.log)." >&2; \
	      echo "Debian: apt-get install clang libclang-rt-dev (14: libclang-rt-14-dev). Elsewhere: make fuzz FUZZ_CXX=..." >&2; \
	      exit 1; }
	@$(BIN)/cmake -S . -B build/fuzz -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja --log-level=WARNING \
	    -DCMAKE_CXX_COMPILER=$(FUZZ_CXX) -DMAXMARGIN_PYTHON=OFF -DMAXMARGIN_FUZZ=ON > build/fuzz.log
	@$(BIN)/cmake --build build/fuzz --target fuzz_libsvm -- --quiet
	build/fuzz/fuzz_libsvm -max_total_time=$(MAXMARGIN_FUZZ_SECONDS) -timeout=10 -rss_limit_mb=1024 -max_len=4096 \
	    -print_final_stats=1 -verbosity=0 -artifact_prefix=build/fuzz/ -dict=cpp/fuzz/libsvm.dict \
	    build/fuzz-corpus cpp/fuzz/libsvm

.PHONY: fuzz-python
fuzz-python: $(VENV)/.built $(VENV)/.tools
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m fuzz

# ---------------------------------------------------------------- the rest

.PHONY: images
images: $(VENV)/.built $(VENV)/.tools ## draw anew the pictures that tests compare with, where they differ; then look
	MAXMARGIN_NEW_IMAGES=1 $(BIN)/python -m pytest -q -n 0 tests/images -k test_picture
	@git status --short tests/images/baseline

.PHONY: stub
stub: $(VENV)/.built ## write src/maxmargin/_core.pyi anew from the compiled module
	$(BIN)/python -m nanobind.stubgen -q -m maxmargin._core -o src/maxmargin/_core.pyi

$(VENV)/.bench: $(VENV)/.environment
	@$(call install_into,$(VENV)) --group bench
	@touch $@

.PHONY: bench
bench: $(VENV)/.built $(VENV)/.bench ## the short version of every benchmark
	@set -e; for script in benchmarks/*.py; do echo "== $$script"; OPENBLAS_NUM_THREADS=1 $(BIN)/python $$script --short; done

# ---------------------------------------------------------------- documentation

$(VENV)/.docs: $(VENV)/.environment
	@echo "installing what builds the documentation"
	@$(call install_into,$(VENV)) --group docs
	@touch $@

SITE := build/site

.PHONY: docs
docs: $(VENV)/.built $(VENV)/.docs ## build the site from docs/ into build/site, and check its links
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs $(CORES) -d build/site-state docs $(SITE)
	@$(BIN)/python scripts/check_site.py $(SITE)

.PHONY: readme-picture
readme-picture: $(VENV)/.built ## draw the picture of README anew
	@$(BIN)/python scripts/make_readme_picture.py

.PHONY: clean
clean: ## remove environments, builds and caches
	rm -rf .venv .venv-asan build dist docs/generated .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
