.DEFAULT_GOAL := help
RUN := uv run --no-sync
JOBS ?= 2
ON_S3 := PENSTOCK_DEV_JARS="delta iceberg postgres s3 mysql mariadb" $(RUN) dev/with-parts dev/with-jars

.PHONY: help ci setup check lint types walls unit test test-spark oracle packages crashes mutants test-all up down status docs map

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install everything a developer needs
	@command -v uv >/dev/null || { echo "uv is missing: install it with 'python3 -m pip install uv', or as https://docs.astral.sh/uv/ says" >&2; exit 1; }
	uv sync --group dev --extra cli --extra s3

ci: ## all checks of CI on this machine, with tools and servers; ends with a table of suites and budgets
	.ci/run

check: lint types walls unit ## everything that needs no JVM: style, types, walls, unit and architecture tests

lint:
	$(RUN) ruff check .
	$(RUN) ruff format --check .

types:
	$(RUN) mypy

walls:
	$(RUN) lint-imports

unit:
	$(RUN) pytest -q -n $(JOBS) --dist worksteal tests/unit tests/oracle tests/architecture --doctest-modules src

test: check test-spark ## check, then the tests on a local Spark

test-spark: ## the tests on a local Spark session
	PENSTOCK_TEST_AT_LENGTH=1 $(RUN) dev/with-jars pytest -q tests/spark tests/flow tests/contract

oracle: ## compare with dlt itself, at full size: half an hour
	$(RUN) dev/with-jars pytest -q -s tests/oracle
	PENSTOCK_TEST_HISTORIES=150 $(RUN) dev/with-jars pytest -q -s tests/flow/test_merges.py

packages: ## load packages at full size: 2,000 orders of calls, 200 rounds of contention; ten minutes
	$(if $(SEED),PENSTOCK_TEST_SEED=$(SEED)) PENSTOCK_TEST_SEQUENCES=2000 PENSTOCK_TEST_ROUNDS=200 PENSTOCK_TEST_KILLS=all \
		PENSTOCK_TEST_RESOURCES=10000 PENSTOCK_TEST_AT_LENGTH=1 $(RUN) pytest -q tests/unit/package/test_model.py \
		tests/unit/package/test_contention.py tests/unit/package/test_kills.py tests/unit/pipeline/test_two_machines.py \
		tests/unit/extract/test_many_resources.py

crashes: ## a load that dies at every step, with every safeguard switched off in turn, and runs that die anywhere; two hours
	PENSTOCK_TEST_AT_LENGTH=1 PENSTOCK_TEST_CRASHES=$(or $(PART),all) PENSTOCK_TEST_JOURNEYS=40+20 $(RUN) dev/with-jars pytest -q -s tests/flow/crashes

mutants: ## break each safeguard in turn: a test must notice; half an hour, with those on Spark
	$(RUN) python dev/mutants.py $(NAMES)
	$(RUN) dev/with-jars python dev/mutants.py --spark $(NAMES)

test-all: test oracle packages crashes ## everything; needs the parts of `make up`
	PENSTOCK_TEST_AT_LENGTH=1 $(RUN) pytest -q tests/unit
	PENSTOCK_TEST_AT_LENGTH=1 PENSTOCK_TEST_MODE=connect PENSTOCK_TEST_CLIENTS=4x20 $(RUN) dev/with-parts pytest -q tests/flow tests/contract tests/service/test_bare_cluster.py
	PENSTOCK_TEST_AT_LENGTH=1 PENSTOCK_TEST_MODE=standalone $(RUN) dev/with-parts pytest -q tests/flow tests/contract
	python3 -m dev.parts up mariadb
	PENSTOCK_TEST_AT_LENGTH=1 PENSTOCK_TEST_S3_CASES=all PENSTOCK_TEST_CRASHES=kinds:2/3 PENSTOCK_TEST_FAULT_LOADS=5 PENSTOCK_TEST_PROCESSES=4 PENSTOCK_TEST_LOADS=20 \
		$(ON_S3) pytest -q -s tests/service
	PENSTOCK_TEST_S3_CASES=all PENSTOCK_TEST_MODE=standalone $(ON_S3) pytest -q tests/service/test_lakes_s3.py

up: ## start Postgres, the S3 gateway with toxiproxy, Spark standalone and Spark Connect
	python3 -m dev.parts up

down: ## stop what `make up` started
	python3 -m dev.parts down

status: ## show what `make up` started
	python3 -m dev.parts status

docs: ## build the documentation
	uv run --group docs mkdocs build --strict

map: ## print the rooms in floor order
	@python3 dev/map.py
