.DEFAULT_GOAL := help
RUN := uv run --no-sync
JOBS ?= 2
ON_S3 := PENSTOCK_DEV_JARS="delta iceberg postgres s3 mysql mariadb" $(RUN) dev/with-parts dev/with-jars
IN_EVERY_MODE := tests/flow tests/contract
# What `make test-all` samples: a tenth of the steps of each kind at which a load is killed, in one table format, and a
# share of the tests marked at_length.
TENTH ?= $(shell shuf -i 1-10 -n 1)
LAKE ?= $(shell shuf -n 1 -e delta delta_files iceberg iceberg_files)
SHARE ?= 1/10
# Spark and its client for Connect cannot be installed together, so each has a file of dependencies.
SBOM_EXPORT := uv export --quiet --frozen --preview-features sbom-export --format cyclonedx1.5 --no-default-groups \
	$(addprefix --extra ,jwt rest s3 postgres pendulum cli rich tqdm)

define TEST_ALL_LEAVES_OUT
make test-all runs $(SHARE) of the tests marked at_length (SHARE=1 for all), and a load killed at a tenth of the steps of each kind in
one table format. It leaves out what `make ci` runs, the other steps, most random crashes, comparisons with a live dlt,
150 histories of merges, packages and unit tests at full size, and all but one case of each kind on S3: make test-long.
endef
define TEST_LONG_LEAVES_OUT
make test-long leaves out: mutants (make mutants), benchmarks (make bench), and a third of the steps
at which a load on S3 is killed.
endef
export TEST_ALL_LEAVES_OUT TEST_LONG_LEAVES_OUT

.PHONY: help ci setup check lint types walls unit test test-spark oracle packages crashes mutants bench test-all test-long up down status docs release-check sbom map

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install everything a developer needs
	@command -v uv >/dev/null || { echo "uv is missing: install it with 'python3 -m pip install uv', or as https://docs.astral.sh/uv/ says" >&2; exit 1; }
	uv sync --group dev --extra cli --extra s3

ci: ## all checks of CI on this machine, with tools and servers; ends with a table of suites and budgets
	.ci/run

check: lint types walls unit ## everything that needs no JVM: style, types, import contracts, unit and architecture tests

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

test-spark: ## the tests on a local Spark that CI runs; LENGTH=1/2 adds half of the long ones, LENGTH=1 all of them
	PENSTOCK_TEST_AT_LENGTH=$(LENGTH) $(RUN) dev/with-jars pytest -q tests/spark tests/flow tests/contract $(OPTIONS)

oracle: ## compare with dlt itself, at full size: half an hour
	$(RUN) dev/with-jars pytest -q -s tests/oracle
	PENSTOCK_TEST_HISTORIES=150 $(RUN) dev/with-jars pytest -q -s tests/flow/test_merges.py tests/unit/destinations/duckdb/test_merge_histories.py

packages: ## load packages at full size: 2,000 orders of calls, 200 rounds of contention; ten minutes
	$(if $(SEED),PENSTOCK_TEST_SEED=$(SEED)) PENSTOCK_TEST_SEQUENCES=2000 PENSTOCK_TEST_ROUNDS=200 PENSTOCK_TEST_KILLS=all \
		PENSTOCK_TEST_RESOURCES=10000 PENSTOCK_TEST_AT_LENGTH=1 $(RUN) pytest -q tests/unit/package/test_model.py \
		tests/unit/package/test_contention.py tests/unit/package/test_kills.py tests/unit/pipeline/test_two_machines.py \
		tests/unit/extract/test_many_resources.py

crashes: ## a load killed at every step, with each safeguard switched off in turn, and runs killed anywhere; four hours
	PENSTOCK_TEST_AT_LENGTH=1 PENSTOCK_TEST_CRASHES=$(or $(PART),all) PENSTOCK_TEST_RANDOM_CRASHES=$(or $(RANDOM_CRASHES),40+20) \
		$(RUN) dev/with-jars pytest -q -s tests/flow/crashes

mutants: ## break each safeguard in turn: a test must notice; half an hour, with those on Spark
	$(RUN) python dev/mutants.py $(NAMES)
	$(RUN) dev/with-jars python dev/mutants.py --spark $(NAMES)

bench: ## penstock beside bare Spark and dlt: SIZE=full, ONLY="append s3", CHECK=1 fails when a budget is exceeded
	$(RUN) python -m benchmarks $(if $(SIZE),--size $(SIZE)) $(if $(ONLY),--only $(ONLY)) $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(INTO),--into $(INTO)) $(if $(BEFORE),--before $(BEFORE)) $(if $(CHECK),--check)

test-all: ## what the gate leaves out, sampled; starts the parts
	@echo "$$TEST_ALL_LEAVES_OUT"
	python3 -m dev.parts up
	python3 -m dev.parts up mariadb
	PENSTOCK_TEST_AT_LENGTH=$(SHARE) $(ON_S3) pytest -q -m at_length --ignore=tests/flow/crashes tests/spark tests/flow tests/contract tests/service
	PENSTOCK_TEST_LAKES=$(LAKE) $(MAKE) crashes PART=kinds:$(TENTH)/10 RANDOM_CRASHES=2+1
	PENSTOCK_TEST_MODE=connect PENSTOCK_TEST_AT_LENGTH=$(SHARE) $(RUN) dev/with-parts pytest -q $(IN_EVERY_MODE) tests/service/test_bare_cluster.py
	PENSTOCK_TEST_MODE=standalone PENSTOCK_TEST_AT_LENGTH=$(SHARE) $(RUN) dev/with-parts pytest -q $(IN_EVERY_MODE)
	@echo "$$TEST_ALL_LEAVES_OUT"

test-long: ## everything at full size, for a machine at night: eight hours; needs the parts of `make up`
	@echo "$$TEST_LONG_LEAVES_OUT"
	$(MAKE) check
	PENSTOCK_TEST_AT_LENGTH=1 $(RUN) pytest -q tests/unit
	$(MAKE) packages oracle
	$(MAKE) test-spark LENGTH=1 OPTIONS=--ignore=tests/flow/crashes
	$(MAKE) crashes
	PENSTOCK_TEST_MODE=connect PENSTOCK_TEST_AT_LENGTH=1 PENSTOCK_TEST_CLIENTS=4x20 $(RUN) dev/with-parts pytest -q $(IN_EVERY_MODE) \
		tests/service/test_bare_cluster.py
	PENSTOCK_TEST_MODE=standalone PENSTOCK_TEST_AT_LENGTH=1 $(RUN) dev/with-parts pytest -q $(IN_EVERY_MODE)
	python3 -m dev.parts up mariadb
	PENSTOCK_TEST_AT_LENGTH=1 PENSTOCK_TEST_S3_CASES=all PENSTOCK_TEST_CRASHES=kinds:2/3 PENSTOCK_TEST_FAULT_LOADS=5 PENSTOCK_TEST_PROCESSES=4 \
		PENSTOCK_TEST_LOADS=20 $(ON_S3) pytest -q -s tests/service
	PENSTOCK_TEST_S3_CASES=all PENSTOCK_TEST_MODE=standalone $(ON_S3) pytest -q tests/service/test_lakes_s3.py
	@echo "$$TEST_LONG_LEAVES_OUT"

up: ## start Postgres, the S3 gateway with toxiproxy, Spark standalone and Spark Connect
	python3 -m dev.parts up

down: ## stop what `make up` started
	python3 -m dev.parts down

status: ## show what `make up` started
	python3 -m dev.parts status

docs: ## build the documentation
	uv run --group docs mkdocs build --strict

release-check: ## build wheel and sdist, check them, and try the wheel with each extra in a new environment
	$(RUN) python dev/release_check.py

sbom: ## write the locked dependencies as CycloneDX files into the folder sbom
	mkdir -p sbom
	$(SBOM_EXPORT) --extra delta --extra duckdb --extra iceberg --output-file sbom/penstock-spark.cdx.json
	$(SBOM_EXPORT) --extra connect --output-file sbom/penstock-connect.cdx.json

map: ## print the packages from the top layer to the bottom
	@python3 dev/map.py
