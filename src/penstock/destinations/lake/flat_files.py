"""The files of a job that have the columns of their table already: they can be committed as they are."""

from __future__ import annotations

import io
import json
import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq

from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.config import AwsCredentials
    from penstock.package.job_file import JobFile

_COLUMN: Final = re.compile(r"`((?:[^`]|``)*)` ([A-Z]+(?:\(\d+,\d+\))?)(?:, |$)")
_JSON_TYPES: Final = {"BIGINT": "long"}


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

    @property
    def schema_json(self) -> str:
        """The columns of all files, as Spark writes a schema in JSON."""
        columns = {name: kind for part in self.job.parts for name, kind in parse_columns(part.columns)}
        return json.dumps(_struct(columns))

    def copy_to(self, store: FileStorage, table: str) -> list[TableFile]:
        """Copy the files to a new subfolder of the folder of a table; the driver holds one file at a time."""
        package, subfolder = (
            FileStorage(self.job.package_path, credentials=self.credentials),
            uuid.uuid4().hex,
        )
        files: list[TableFile] = []
        for part in self.job.parts:
            schema = _struct(dict(parse_columns(part.columns)))
            for name in package.names(part.data.path):
                content = package.read(f"{part.data.path}/{name}") or b""
                path = f"{subfolder}/part-{len(files):05d}.parquet"
                store.put(f"{table}/{path}", content)
                footer = pq.read_metadata(io.BytesIO(content))
                files.append(TableFile(path=path, size=len(content), footer=footer, schema=schema))
        return files


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
