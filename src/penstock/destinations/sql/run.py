"""The rows of a job: written by Spark if they need a projection, and read by the driver from files."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.destinations.lake.flat_files import parse_columns
from penstock.destinations.sql.staged_frame import staged_frame
from penstock.destinations.sql.staging import POSITION
from penstock.errors import UsageError
from penstock.package.layout import DATA_FOLDER, LOADER_FILES_FOLDER
from penstock.package.loader_files import LoaderFiles, find_loader_files
from penstock.package.storage import FileStorage
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from penstock.config import AwsCredentials
    from penstock.package import JobFile
    from penstock.schema import Table

_ROW_DIGITS: Final = 20
_MAX_BATCH_ROWS: Final = 16_384


def write_staged_files(
    job: JobFile, spark: SparkSession | None, credentials: AwsCredentials | None, *, with_position: bool
) -> None:
    """Let Spark write the rows of a job that need a projection as flat files of its package. Idempotent.

    The files are recorded in the package once they are complete. Other jobs have flat files already.
    """
    store, job_id = FileStorage(job.package_path, credentials=credentials), job.name.job_id()
    if job.is_flat or find_loader_files(store, job_id) is not None:
        return
    if spark is None:
        raise UsageError("rows of this size are written by Spark", hint="pass spark to the client")
    folder = f"{DATA_FOLDER}/{LOADER_FILES_FOLDER}/{job_id}/{uuid.uuid4().hex[:12]}"
    frame = staged_frame(job, spark, with_position=with_position)
    frame.write.mode("overwrite").parquet(spark_path(store.path(folder)))
    names = sorted(name for name in store.names(folder) if name[0] not in "._")
    paths = tuple(store.path(f"{folder}/{name}") for name in names)
    LoaderFiles(file_format="parquet", paths=paths).save(store, job_id)


def staged_columns(job: JobFile, table: Table, credentials: AwsCredentials | None) -> tuple[str, ...]:
    """Return the columns of the table that the files of a job have, in the order of the table."""
    names = {name for part in job.parts for name, _ in parse_columns(part.columns)}
    if not job.is_flat:
        store = FileStorage(job.package_path, credentials=credentials)
        names = {name for path, _ in _written_files(job, store) for name in _file_columns(store, path)}
    return tuple(column.name for column in table.complete_columns() if column.name in names)


def staged_batches(
    job: JobFile, columns: tuple[str, ...], credentials: AwsCredentials | None, *, has_position: bool
) -> Iterator[tuple[tuple[str, ...], Iterator[pa.RecordBatch]]]:
    """Yield the columns and the rows of each file of a job; with their positions if rows are merged."""
    store = FileStorage(job.package_path, credentials=credentials)
    for number, path, size in _files(job, store):
        with store.open(path, size=size) as stream:
            parquet = pq.ParquetFile(stream)
            existing = set(parquet.schema_arrow.names)
            names = [name for name in (*columns, POSITION) if name in existing]
            batches = parquet.iter_batches(_MAX_BATCH_ROWS, columns=names)
            if has_position and POSITION not in existing:
                # The driver writes positions only into files of nested tables and their root.
                file = path.rpartition("/")[2]
                yield (*names, POSITION), _with_positions(batches, prefix=f"{number:06d}/{file}/")
            else:
                yield tuple(names), batches


def _files(job: JobFile, store: FileStorage) -> Iterator[tuple[int, str, int | None]]:
    """Yield the number of the folder, the path in the package and the size of each file."""
    if not job.is_flat:
        yield from ((0, path, size) for path, size in _written_files(job, store))
        return
    for number, part in job.numbered_parts:
        for file, size in sorted(part.data.list_files(store).items()):
            yield number, f"{part.data.path}/{file}", size


def _written_files(job: JobFile, store: FileStorage) -> Iterator[tuple[str, None]]:
    written = find_loader_files(store, job.name.job_id())
    for path in () if written is None else written.paths:
        yield path.removeprefix(f"{store.root}/"), None


def _file_columns(store: FileStorage, path: str) -> list[str]:
    with store.open(path) as stream:
        return list(pq.read_schema(stream).names)


def _with_positions(batches: Iterator[pa.RecordBatch], prefix: str) -> Iterator[pa.RecordBatch]:
    first = 0
    for batch in batches:
        rows = pa.array(range(first, first + batch.num_rows), pa.int64()).cast(pa.string())
        padded = pc.utf8_lpad(rows, width=_ROW_DIGITS, padding="0")
        yield batch.append_column(POSITION, pc.binary_join_element_wise(prefix, padded, ""))
        first += batch.num_rows
