# Warpwright's task runner: `make` or `make help` lists what it can do. Everything installs into .venv, nothing elsewhere.

PYTHON ?= python3
VENV   ?= .venv
OUT    ?= out
# Test processes for two cores: tests wait for children and servers a fifth of their time. A file stays in one process, so that
# its fixtures are made once.
JOBS   ?= 3
BIN    := $(VENV)/bin
PY     := $(BIN)/python
# Measured landscapes that forecasts are held against.
LANDSCAPES ?= $(filter-out %.facts.json,$(wildcard docs/results/landscapes/*.json))
# Extra arguments for pip, such as an index of CPU-only torch wheels.
PIP_ARGS ?=
comma := ,
# nvcc comes from the package index only when the machine has none of its own.
EXTRAS := local,cluster,postgres,telemetry,dev$(if $(shell command -v nvcc 2>/dev/null),,$(comma)nvcc)
SOURCES := warpwright service tuning lowering solver migrations tests benchmarks examples

# Tests and tunings start some hundred Python processes: without bytecode on disk each one would compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long test-celery check format sizes client serve openapi differential mutation fuzz-ir fuzz-api chaos bench bench-service bench-solve bench-ranking clean

help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(VENV)/.installed ## Make .venv and install everything that the tests and the demo need

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version) if sys.version_info < (3, 11) else None'
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@# torch first, by its exact pin, so that no other package pulls in a second one.
	$(PY) -m pip install $(PIP_ARGS) -c constraints.txt torch==2.13.0
	$(PY) -m pip install $(PIP_ARGS) -c constraints.txt -e '.[$(EXTRAS)]'
	touch $@

demo: setup ## Tune both example kernels for an H200: candidates, proof lines, HTML reports in out/
	WARPWRIGHT_DATA=$(OUT)/data $(BIN)/warpwright tune examples/gemm.py --profile h200 --candidates 4 --budget 1500 --out $(OUT)/gemm
	WARPWRIGHT_DATA=$(OUT)/data $(BIN)/warpwright tune examples/attention.py --profile h200 --candidates 4 --budget 1500 --out $(OUT)/attention
	@echo "Reports: $(OUT)/gemm/report.html and $(OUT)/attention/report.html"

test: setup ## Run the whole test suite on two cores (no GPU, no network, no root needed)
	$(PY) -m pytest -n $(JOBS) --dist loadfile

test-long: setup ## Run the tests marked slow as well
	$(PY) -m pytest -m "slow or not slow"

test-celery: setup ## Every database with every task runner, real compilers on Celery workers included
	WARPWRIGHT_TEST_BACKENDS=all $(PY) -m pytest -n $(JOBS) --dist loadfile -m "slow or not slow" tests/acceptance/service \
		tests/integration/service tests/contract/service

check: setup ## Linters and the strict type checker, as CI runs them
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## Format the sources and fix what the linter can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

sizes: ## Print the size table of our modules
	$(PYTHON) tests/unit/gates/module_sizes.py

client: setup ## Derive the blocking client from the asynchronous one
	$(PY) -m tests.unit.gates.synchronous_client

serve: setup ## Start the service and the dashboard on http://127.0.0.1:8753
	$(BIN)/warpwright serve

mutation: setup ## Empty each family's check and build in turn; some unit test must fail every time
	$(PY) -m benchmarks.mutation --jobs $(JOBS)

differential: setup ## Compare our acceptance of schedules with TileLang's own, at length
	$(PY) -m benchmarks.differential

fuzz-ir: setup ## 100,000 damaged IR documents against the frontend: one JSON object
	$(PY) -m benchmarks.fuzz_ir

fuzz-api: setup ## Generated requests over the whole OpenAPI document: one JSON object
	$(PY) -m benchmarks.api

chaos: setup ## Kill servers, runners, Celery workers and children at 200 random moments; nothing may be lost
	$(PY) -m benchmarks.chaos --runner celery --kills 200

bench: bench-solve bench-ranking bench-service ## All benchmarks that need no device

bench-service: setup ## Load of the service: one JSON object
	$(PY) -m benchmarks.service

bench-solve: setup ## Solve times and proofs: one JSON object
	$(PY) -m benchmarks.solve

bench-ranking: setup ## Forecast against measured landscapes: one JSON object
	$(PY) -m benchmarks.ranking $(LANDSCAPES)

clean: ## Remove build products and caches, keep .venv
	rm -rf build dist $(OUT) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
