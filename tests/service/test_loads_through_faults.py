"""Whole loads in an S3 that fails, for Spark and for the driver: packages and tables behind two proxies.

`PENSTOCK_TEST_FAULT_LOADS` sets the number of loads for each kind of fault; without it one kind has one.
`PENSTOCK_TEST_FAULT_SEED` chooses the requests that fail.
"""

from __future__ import annotations

import os
import time
import uuid
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.service.bucket import jdbc_catalog, keys
from tests.service.fault_proxy import Fault, Proxy, faulty, seeded
from tests.service.test_packages_s3 import options
from tests.service.toxics import Toxic, toxic

import penstock
from penstock.errors import PipelineStepFailed, RetryableError
from penstock.package import FileStorage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.interfaces import Destination

ASKED = os.environ.get("PENSTOCK_TEST_FAULT_LOADS", "")
LOADS = int(ASKED or "1")
SEED = int(os.environ.get("PENSTOCK_TEST_FAULT_SEED", "1"))
PATIENCE = 1800.0
BREATH = 0.3
KINDS: dict[str, list[Toxic] | dict[Fault, float]] = {
    "slow": [Toxic("latency", {"latency": 30, "jitter": 30})],
    "narrow": [Toxic("bandwidth", {"rate": 500}), Toxic("bandwidth", {"rate": 500}, stream="upstream")],
    "reset": [Toxic("reset_peer", {"timeout": 20}, toxicity=0.1)],
    "cut": [Toxic("limit_data", {"bytes": 200}, toxicity=0.1)],
    "refused": {"500": 0.02, "503": 0.02, "412": 0.05},
    "lost": {"cut": 0.01, "lost": 0.02, "torn": 0.01, "500 done": 0.01, "412 done": 0.05, "undeleted": 0.05},
}


BREAKING = ("reset", "cut")
FEW = ("lost",)


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    """A proxy before that of `make up`: Hadoop keeps the first endpoint that it was given."""
    with faulty(os.environ["PENSTOCK_TEST_S3_TOXIC"]) as running:
        yield running


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket that this process has not used with another endpoint."""
    name = f"faults-{uuid.uuid4().hex[:12]}"
    system = FileStorage(f"s3://{name}", **options()).file_system
    system.mkdir(name)
    yield name
    system.rm(name, recursive=True)


@contextmanager
def faults(kind: str, proxy: Proxy) -> Iterator[None]:
    """Inject faults of one kind during a block."""
    settings = KINDS[kind]
    if isinstance(settings, dict):
        proxy.plan = seeded(SEED, settings)
        try:
            yield
        finally:
            proxy.plan = None
    else:
        with toxic(*settings):
            yield


def batch(number: int) -> list[Any]:
    """Return one load: rows for three formats, each yielded once through retries."""

    def rows(of: str) -> Iterator[dict[str, Any]]:
        state = penstock.current.resource_state()
        if state.get("done", 0) < number:
            yield {"id": number, "of": of, "tags": ["a", "b"]}
            yield {"id": 0, "of": of, "tags": [str(number)]}
        state["done"] = number

    def named(name: str, **hints: Any) -> Any:
        return penstock.resource(rows, name=name, **hints)(name)

    merged = {"write_disposition": "merge", "primary_key": "id"}
    return [
        named("files", write_disposition="append"),
        named("deltas", table_format="delta", **merged),
        named("icebergs", table_format="iceberg", **merged),
    ]


def open_pipeline(destination: Destination, tmp_path: Path, spark: SparkSession) -> penstock.Pipeline:
    return penstock.pipeline(
        "shop",
        pipelines_dir=tmp_path / "pipelines",
        destination=destination,
        dataset_name="demo",
        spark=spark,
    )


@pytest.mark.parametrize("kind", KINDS if ASKED else FEW)
def test_loads_through_faults_lose_and_duplicate_nothing(
    kind: str,
    proxy: Proxy,
    bucket: str,
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lake = penstock.destinations.filesystem(
        f"s3://{bucket}/{kind}",
        credentials=keys(endpoint_url=proxy.url),
        iceberg=jdbc_catalog(f"s3://{bucket}/{kind}"),
    )
    open_pipeline(lake, tmp_path, spark).run(batch(1))
    errors: Counter[str] = Counter()
    proxy.done.clear()
    proxy.connections.clear()
    began = time.monotonic()

    with faults(kind, proxy):
        for number in range(2, LOADS + 2):
            load(lake, tmp_path, spark, number, errors)

    seconds = time.monotonic() - began
    assert os.environ["PENSTOCK_TEST_S3_SECRET"] not in "".join(errors)
    assert proxy.faults or not isinstance(KINDS[kind], dict), "no request was made to fail"
    assert proxy.connections["broke"] or kind not in BREAKING, "no connection broke"
    pipeline = open_pipeline(lake, tmp_path, spark)
    last = LOADS + 1
    assert len(pipeline.dataset().load_ids()) == last
    assert pipeline.dataset().row_counts() == {
        "files": 2 * last,
        "files__tags": 3 * last,
        "deltas": 1 + last,
        "deltas__tags": 1 + 2 * last,
        "icebergs": 1 + last,
        "icebergs__tags": 1 + 2 * last,
    }
    with capsys.disabled():
        print(f"\n{kind}: {LOADS} loads, {seconds:.0f} s; {proxy.report()}")  # noqa: T201 - the figures
        for message, times in errors.items():
            print(f"  begun again {times} times: {message}")  # noqa: T201 - the messages are to be looked at


def load(lake: Destination, tmp_path: Path, spark: SparkSession, number: int, errors: Counter[str]) -> None:
    """Run until the load is complete, like a user who calls `run` again after an error."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            open_pipeline(lake, tmp_path, spark).run(batch(number))
        except (PipelineStepFailed, RetryableError) as error:
            cause = error.exception if isinstance(error, PipelineStepFailed) else error
            errors[f"{type(cause).__name__}: {cause}"] += 1
            if time.monotonic() > until or not isinstance(cause, RetryableError):
                raise
            time.sleep(BREATH)
        else:
            return
