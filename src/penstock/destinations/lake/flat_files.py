"""The files of a job that have the columns of their table already: they can be committed as they are."""

from __future__ import annotations

import io
import json
import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq

from penstock.package.folder import count_rows
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.config import AwsCredentials
    from penstock.package.job_file import JobFile

_COLUMN: Final = re.compile(r"`((?:[^`]|``)*)` ([A-Z]+(?:\(\d+,\d+\))?)(?:, |$)")
_JSON_TYPES: Final = {"BIGINT": "long"}
# Two requests instead of the five that copy an object and read its footer.
_MAX_BUFFERED_BYTES: Final = 4 * 1024 * 1024
_COPY_THREADS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """A file in the folder of a table, not yet part of the table."""

    path: str
    size: int
    footer: pq.FileMetaData
    schema: Mapping[str, Any]
    """The columns of the file, as Spark writes a schema in JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFiles:
    """The files of a job, in its package."""

    job: JobFile
    credentials: AwsCredentials | None = None

    @staticmethod
    def of_job(job: JobFile, credentials: AwsCredentials | None = None) -> JobFiles | None:
        """Return the files of a job if all have the columns of the table, with one type for each column."""
        if not job.is_flat:
            return None
        columns = {column for part in job.parts for column in parse_columns(part.columns)}
        is_same = len(dict(columns)) == len(columns)
        return JobFiles(job=job, credentials=credentials) if is_same else None

    @property
    def schema_json(self) -> str:
        """The columns of all files, as Spark writes a schema in JSON."""
        columns = {name: kind for part in self.job.parts for name, kind in parse_columns(part.columns)}
        return json.dumps(_struct(columns))

    def count_rows(self) -> int:
        """Return the sum of the row counts in the footers of the files."""
        package = FileStorage(self.job.package_path, credentials=self.credentials)
        return count_rows(
            package,
            [f"{part.data.path}/{name}" for part in self.job.parts for name in part.data.list_files(package)],
        )

    def copy_to(self, store: FileStorage, table: str) -> list[TableFile]:
        """Copy the files to a new subfolder of the folder of a table, in threads because storage is slow.

        On a disk they are linked, in a store copied. Small files pass through the driver, in two requests.
        """
        package = FileStorage(self.job.package_path, credentials=self.credentials)
        subfolder = uuid.uuid4().hex
        sources = [
            (part, name, size)
            for part in self.job.parts
            for name, size in part.data.list_files(package).items()
        ]

        def copy(number: int) -> TableFile:
            part, name, size = sources[number]
            source, path = f"{part.data.path}/{name}", f"{subfolder}/part-{number:05d}.parquet"
            target = f"{table}/{path}"
            if store.is_local or size > _MAX_BUFFERED_BYTES:
                store.copy_from(package, source, target)
                with package.open(source) as stream:
                    footer = pq.read_metadata(stream)
            else:
                content = package.read(source) or b""
                store.put(target, content)
                footer = pq.read_metadata(io.BytesIO(content))
            schema = _struct(dict(parse_columns(part.columns)))
            return TableFile(path=path, size=size, footer=footer, schema=schema)

        if len(sources) <= 1:
            return [copy(number) for number in range(len(sources))]
        with ThreadPoolExecutor(min(_COPY_THREADS, len(sources))) as pool:
            return list(pool.map(copy, range(len(sources))))


def parse_columns(columns: str) -> Iterator[tuple[str, str]]:
    """Yield the names and types of simple columns in Spark SQL, the types as in Spark's JSON.

    >>> list(parse_columns("`id` BIGINT, `odd ``name``` DECIMAL(38,9)"))
    [('id', 'long'), ('odd `name`', 'decimal(38,9)')]
    """
    for name, kind in _COLUMN.findall(columns):
        yield name.replace("``", "`"), _JSON_TYPES.get(kind, kind.lower())


def _struct(columns: Mapping[str, str]) -> dict[str, Any]:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()
    ]
    return {"type": "struct", "fields": fields}
