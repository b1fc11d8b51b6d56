"""The checks of `penstock doctor` that need a session; a program that prints JSON lines."""

from __future__ import annotations

import json
import sys
import tempfile
import uuid
from dataclasses import asdict
from typing import TYPE_CHECKING

from penstock.cli.doctor import Finding
from penstock.config import read_settings, resolve_configuration
from penstock.destinations.delta.reference import DELTA
from penstock.destinations.delta.settings import DeltaConfiguration
from penstock.errors import PenstockError, SparkNotAvailable
from penstock.interfaces import LoadMark
from penstock.schema import Schema, Table
from penstock.spark.probe import probe_executors, probe_sessions, probe_storage
from penstock.spark.s3 import s3_needs, s3a_conf
from penstock.spark.session import check_session, find_session
from penstock.spark.session_pool import SessionPool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from penstock.config import Settings

_NEEDS = ("delta",)
_ROWS = 3


def main(arguments: list[str]) -> int:
    """Print one finding per line; a `PenstockError` is a finding too."""
    try:
        for finding in check_spark(read_settings(), location=arguments[0] if arguments else None):
            print(json.dumps(asdict(finding)), flush=True)
    except SparkNotAvailable as error:
        # The output of Spark above is more informative than this error.
        print(error.message, file=sys.stderr)
        return 1
    except PenstockError as error:
        finding = Finding(check="Spark runs", verdict="failure", fact=error.message, fix=error.hint)
        print(json.dumps(asdict(finding)), flush=True)
    return 0


def check_spark(settings: Settings, *, location: str | None) -> Iterator[Finding]:
    """Start a session as a pipeline does, then check executors, storage and a Delta table."""
    config = resolve_configuration(
        DeltaConfiguration,
        settings=settings,
        sections=("destination", "delta"),
        explicit={"bucket_url": location},
    )
    given, needs = config.bucket_url, (*_NEEDS, *s3_needs(config.bucket_url))
    user = find_session(None, settings, needs)
    yield Finding(check="Session", verdict="ok", fact=f"Spark {user.spark.version} on {user.master}")
    check_session(user, needs)
    pool = SessionPool(user, needs, s3a_conf(given, config.credentials))
    try:
        with pool.session() as spark:
            for check, fact in probe_sessions(user, pool):
                yield Finding(
                    check=check, verdict="warning" if fact.startswith("!") else "ok", fact=fact.lstrip("!")
                )
            yield _check_executors(spark)
            if given is None and not user.is_local:
                fix = "set DESTINATION__DELTA__BUCKET_URL, or pass --location"
                fact = "no location is set, so no table was written"
                yield Finding(check="Storage", verdict="failure", fact=fact, fix=fix)
                return
            with tempfile.TemporaryDirectory(prefix="penstock-doctor-") as folder:
                root = f"{given or folder}/_penstock_doctor_{uuid.uuid4().hex[:8]}"
                probe_config = config.model_copy(update={"bucket_url": root, "dataset_name": "doctor"})
                yield _check_storage(probe_config, spark)
                yield _check_delta_table(probe_config, spark)
    finally:
        pool.close()


def _check_executors(spark: SparkSession) -> Finding:
    fact = probe_executors(spark)
    if fact.startswith("!"):
        fix = "install pyarrow in the executors' Python; Python rows and native tables work without it"
        return Finding(check="Executors", verdict="warning", fact=fact[1:], fix=fix)
    return Finding(check="Executors", verdict="ok", fact=fact)


def _check_storage(config: DeltaConfiguration, spark: SparkSession) -> Finding:
    try:
        fact = probe_storage(config.bucket_url or "", spark, credentials=config.credentials)
        return Finding(check="Storage", verdict="ok", fact=fact)
    except PenstockError as error:
        return Finding(check="Storage", verdict="failure", fact=error.message, fix=error.hint)


def _check_delta_table(config: DeltaConfiguration, spark: SparkSession) -> Finding:
    client = DELTA.client(Schema("doctor"), config, spark=spark)
    mark = LoadMark(pipeline_name="doctor", sequence=1, load_id="1", manifest_hash="doctor")
    probe_rows = spark.range(_ROWS).toDF("id")
    tables, probe = client.tables, Table(name="probe")
    tables.append(probe, probe_rows, mark, spark=spark)
    repeated = tables.append(probe, probe_rows, mark, spark=spark)
    rows = tables.read("probe", spark=spark).count()
    client.drop_storage()
    if rows != _ROWS or not repeated.skipped:
        fact = f"{_ROWS} rows were written twice in one transaction, and the table has {rows}"
        return Finding(check="Delta", verdict="failure", fact=fact, fix="report this with the versions above")
    fact = "a table was written and read, and a repeated write was skipped"
    return Finding(check="Delta", verdict="ok", fact=fact)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
