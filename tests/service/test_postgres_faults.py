"""Loads into Postgres over a network that fails: nothing is lost or duplicated, and messages help.

`PENSTOCK_TEST_FAULT_LOADS` sets the number of loads for each kind of fault.
"""

from __future__ import annotations

import os
import random
import time
import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from tests.conftest import AT_LENGTH, SEED
from tests.service.postgres import URL
from tests.service.postgres_side.lost_commits import lost_commits
from tests.service.test_postgres_loads import drop_schemas, rows_of, schemas
from tests.service.toxics import Toxic, proxy_before

import penstock
from penstock.errors import PipelineStepFailed, RetryableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.service.postgres_side.lost_commits import LostAt

LOADS = int(os.environ.get("PENSTOCK_TEST_FAULT_LOADS", "6" if AT_LENGTH else "1"))
PATIENCE = 1800.0
BREATH = 0.05
ROWS = 200
KINDS = {
    "slow": [Toxic("latency", {"latency": 20, "jitter": 20})],
    "narrow": [Toxic("bandwidth", {"rate": 100}), Toxic("bandwidth", {"rate": 100}, stream="upstream")],
    "reset": [Toxic("reset_peer", {"timeout": 20}, toxicity=0.1)],
    "cut": [Toxic("limit_data", {"bytes": 1000}, toxicity=0.1)],
    "cut in COPY": [Toxic("limit_data", {"bytes": 6000}, toxicity=0.5, stream="upstream")],
    "silent": [Toxic("timeout", {"timeout": 200}, toxicity=0.05)],
}
CHOSEN_KINDS = tuple(KINDS) if AT_LENGTH else (random.Random(SEED).choice(["reset", "cut", "cut in COPY"]),)
LOGIN = urlsplit(URL)


def url_at(address: str) -> str:
    return URL.replace(f"{LOGIN.hostname}:{LOGIN.port}", address)


@pytest.fixture
def dataset() -> Iterator[str]:
    name = f"faults_{uuid.uuid4().hex[:8]}"
    yield name
    drop_schemas(name)


@pytest.fixture(params=["driver", pytest.param("executors", marks=pytest.mark.at_length)])
def spark_of_writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SparkSession | None:
    """The session whose executors copy the rows; None where the driver copies them."""
    if request.param == "driver":
        return None
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "0")
    spark: SparkSession = request.getfixturevalue("spark")
    return spark


def open_pipeline(
    url: str, dataset: str, folder: Path, spark: SparkSession | None = None
) -> penstock.Pipeline:
    return penstock.pipeline(
        "shop",
        destination=penstock.destinations.postgres(url),
        dataset_name=dataset,
        pipelines_dir=folder,
        spark=spark,
    )


def batch(number: int) -> list[Any]:
    """Return one load: rows for two chains, each yielded once through retries."""

    def rows() -> Iterator[dict[str, Any]]:
        state = penstock.current.resource_state()
        for row in range(ROWS if state.get("done", 0) < number else 0):
            yield {"id": row, "batch": number, "items": [{"batch": number, "text": "x" * 20}] * 2}
        state["done"] = number

    return [
        penstock.resource(rows, name="events", write_disposition="append")(),
        penstock.resource(rows, name="orders", write_disposition="merge", primary_key="id")(),
    ]


def load(
    url: str, dataset: str, folder: Path, number: int, spark: SparkSession | None = None
) -> Counter[str]:
    """Run until the load is complete, like a user who calls `run` again; return the errors meanwhile."""
    until = time.monotonic() + PATIENCE
    errors: Counter[str] = Counter()
    while True:
        try:
            open_pipeline(url, dataset, folder, spark).run(batch(number))
        except (PipelineStepFailed, RetryableError) as error:
            cause = error.exception if isinstance(error, PipelineStepFailed) else error
            errors[f"{type(cause).__name__}: {cause}"] += 1
            if time.monotonic() > until or not isinstance(cause, RetryableError):
                raise
            time.sleep(BREATH)
        else:
            return errors


def assert_loaded_once(dataset: str, loads: int) -> None:
    batches = [(number, ROWS) for number in range(1, loads + 1)]
    nested = [(number, 2 * ROWS) for number, _ in batches]
    count = "SELECT batch, count(*) FROM {} GROUP BY 1 ORDER BY 1"
    assert rows_of(count.format("events"), dataset=dataset) == batches
    assert rows_of(count.format("events__items"), dataset=dataset) == nested
    assert rows_of(count.format("orders"), dataset=dataset) == batches[-1:]
    assert rows_of(count.format("orders__items"), dataset=dataset) == nested[-1:]
    sequences = rows_of("SELECT sequence, status FROM _dlt_loads ORDER BY 1", dataset=dataset)
    assert sequences == [(number, 0) for number in range(1, loads + 1)]
    assert schemas(dataset) == [dataset]


@pytest.mark.parametrize("kind", CHOSEN_KINDS)
def test_loads_through_a_network_that_fails_lose_and_duplicate_nothing(
    kind: str,
    spark_of_writer: SparkSession | None,
    dataset: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    load(URL, dataset, tmp_path, 1, spark_of_writer)
    errors: Counter[str] = Counter()
    began = time.monotonic()

    with proxy_before(f"{LOGIN.hostname}:{LOGIN.port}") as proxy, proxy.toxic(*KINDS[kind]):
        for number in range(2, LOADS + 2):
            errors += load(url_at(proxy.address), dataset, tmp_path, number, spark_of_writer)

    writer = "executors" if spark_of_writer else "driver"
    with capsys.disabled():
        seconds = time.monotonic() - began
        print(f"\n{kind}, {writer}: {LOADS} loads, {seconds:.0f} s, begun again {errors.total()} times")  # noqa: T201 - the figures
        for message, times in errors.most_common() if AT_LENGTH else ():
            print(f"  {times} times: {message}")  # noqa: T201 - the messages are to be looked at
    assert str(LOGIN.password) not in "".join(errors)
    assert_loaded_once(dataset, LOADS + 1)


@pytest.mark.parametrize("lost_at", ["before", "after"])
def test_a_load_whose_commit_got_no_reply_is_loaded_once(
    lost_at: LostAt, dataset: str, tmp_path: Path
) -> None:
    assert LOGIN.hostname is not None
    assert LOGIN.port is not None
    load(URL, dataset, tmp_path, 1)

    with lost_commits(LOGIN.hostname, LOGIN.port) as proxy:
        proxy.of_loads, proxy.of_others = [lost_at], [None, lost_at]
        errors = load(url_at(proxy.address), dataset, tmp_path, 2)

    assert proxy.of_loads == []
    assert any("the connection to Postgres" in message and "was lost" in message for message in errors)
    assert_loaded_once(dataset, 2)
