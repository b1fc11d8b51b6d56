"""The rows of a job: read by the driver from flat files, or copied by executors."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from penstock.config import redact
from penstock.destinations.lake.flat_files import parse_columns
from penstock.destinations.postgres import binary_copy, copy_task, executor_task, sqlstates
from penstock.destinations.postgres.copy_task import TRANSIENT_MARK
from penstock.destinations.postgres.errors import ROWS_HINT, RUN_AGAIN_HINT
from penstock.destinations.postgres.executor_task import OUTPUT_SCHEMA, PartitionCopier
from penstock.destinations.sql.staged_frame import staged_frame
from penstock.destinations.sql.staging import POSITION
from penstock.errors import DestinationTerminalException, DestinationTransientException, UsageError
from penstock.package.storage import FileStorage
from penstock.schema import spark_type
from penstock.schema.spark_sql import quote_name
from penstock.spark.serialization import loads, serialize_by_value, serialized_mapper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from penstock.config import AwsCredentials
    from penstock.destinations.postgres.copy_task import ExecutorCopy
    from penstock.destinations.postgres.settings import PostgresCredentials
    from penstock.package import JobFile
    from penstock.schema import Table

MAX_DRIVER_BYTES: Final = 64 * 1024 * 1024
"""The size of flat files up to which the driver copies them itself."""
_ROW_DIGITS: Final = 20
_TLS_PARAMETERS: Final = ("sslmode", "sslrootcert", "sslcert", "sslkey")
_MAX_BATCH_ROWS: Final = 16_384


def is_for_driver(job: JobFile) -> bool:
    """Return whether the driver copies the rows of a job: few, in files with the columns of the table."""
    sizes = [MAX_DRIVER_BYTES + 1 if part.data.bytes is None else part.data.bytes for part in job.parts]
    return job.is_flat and sum(sizes) <= MAX_DRIVER_BYTES


def flat_column_names(job: JobFile, table: Table) -> tuple[str, ...]:
    """Return the columns of the table that the flat files of a job have, in the order of the table."""
    names = {name for part in job.parts for name, _ in parse_columns(part.columns)}
    return tuple(column.name for column in table.complete_columns() if column.name in names)


def flat_batches(
    job: JobFile, columns: tuple[str, ...], credentials: AwsCredentials | None, *, has_position: bool
) -> Iterator[tuple[tuple[str, ...], Iterator[pa.RecordBatch]]]:
    """Yield the columns and the rows of each flat file; with the position of each row if rows are merged."""
    store = FileStorage(job.package_path, credentials=credentials)
    for number, part in enumerate(job.parts):
        for file, size in sorted(part.data.list_files(store).items()):
            with store.open(f"{part.data.path}/{file}", size=size) as stream:
                parquet = pq.ParquetFile(stream)
                existing = set(parquet.schema_arrow.names)
                names = [name for name in (*columns, POSITION) if name in existing]
                batches = parquet.iter_batches(_MAX_BATCH_ROWS, columns=names)
                if has_position and POSITION not in existing:
                    # The driver writes positions only into files of nested tables and their root.
                    yield (*names, POSITION), _with_positions(batches, prefix=f"{number:06d}/{file}/")
                else:
                    yield tuple(names), batches


def _with_positions(batches: Iterator[pa.RecordBatch], prefix: str) -> Iterator[pa.RecordBatch]:
    first = 0
    for batch in batches:
        rows = pa.array(range(first, first + batch.num_rows), pa.int64()).cast(pa.string())
        padded = pc.utf8_lpad(rows, width=_ROW_DIGITS, padding="0")
        yield batch.append_column(POSITION, pc.binary_join_element_wise(prefix, padded, ""))
        first += batch.num_rows


def job_frame(job: JobFile, table: Table, *, has_position: bool, spark: SparkSession) -> DataFrame:
    """Return the rows of a job with the columns of the table that they have, and their position as text."""
    frame = staged_frame(job, spark, with_position=has_position)
    columns = [
        F.col(quote_name(column.name)).cast(spark_type(column)).alias(column.name)
        for column in table.complete_columns()
        if column.name in frame.columns
    ]
    return frame.select(*columns, *([F.col(quote_name(POSITION))] if has_position else []))


def copy_on_executors(frame: DataFrame, copy: ExecutorCopy, *, connections: int) -> tuple[int, Counter[str]]:
    """Copy the rows over at most so many connections; return their number, and the replaced texts by column.

    Raises `UsageError` if executors have no psycopg.
    """
    inner = serialize_by_value(copy, binary_copy, copy_task, sqlstates)
    task = serialize_by_value(PartitionCopier(inner, loads), executor_task)
    try:
        outcomes = frame.coalesce(connections).mapInArrow(serialized_mapper(task), OUTPUT_SCHEMA).collect()
    except PySparkException as error:
        text = redact(str(error))
        if TRANSIENT_MARK not in text:
            raise
        reason = text.partition(TRANSIENT_MARK)[2].partition("\n")[0]
        raise DestinationTransientException(reason, hint=RUN_AGAIN_HINT) from error
    for outcome in outcomes:
        if outcome["missing"] is not None:
            raise UsageError(
                f"executors copy the rows of {copy.table}, and cannot load psycopg: {outcome['missing']}",
                hint="install psycopg[binary] in the Python of the executors",
            )
        if outcome["error"] is not None:
            raise DestinationTerminalException(redact(outcome["error"]), hint=ROWS_HINT)
    replaced: Counter[str] = Counter()
    for outcome in outcomes:
        replaced.update(json.loads(outcome["replaced"]))
    return sum(outcome["rows"] for outcome in outcomes), replaced


def read_table(
    credentials: PostgresCredentials, query: str, *, fetch_size: int = 10_000, spark: SparkSession
) -> DataFrame:
    """Return a frame over a query, which Spark reads over one connection: so it is of one moment."""
    parameters = credentials.parameters()
    reader = spark.read.format("jdbc").options(
        url=f"jdbc:postgresql://{_host(credentials.host)}:{credentials.port}/{quote(credentials.database)}",
        driver="org.postgresql.Driver",
        query=query,
        fetchsize=fetch_size,
        preferTimestampNTZ=True,
        sessionInitStatement="SET TIME ZONE 'UTC'",
        ApplicationName=parameters["application_name"],
    )
    tls: dict[str, str] = {name: parameters[name] for name in _TLS_PARAMETERS if name in parameters}
    if tls.get("sslmode", "").startswith("verify") and "sslrootcert" not in tls:
        # Otherwise the driver only reads a file in the home folder.
        tls["sslfactory"] = "org.postgresql.ssl.DefaultJavaSSLFactory"
    login = {name: parameters[name] for name in ("user", "password") if name in parameters}
    return reader.options(**tls, **login).load()


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
