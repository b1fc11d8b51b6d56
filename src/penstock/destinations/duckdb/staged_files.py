"""The files of a job as a relation of DuckDB, which reads them in the transaction of the load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq
from sqlglot import exp

from penstock.destinations.sql.dialect import column
from penstock.destinations.sql.staging import POSITION, StagedTable
from penstock.package.loader_files import find_loader_files
from penstock.package.storage import FileStorage
from penstock.spark.paths import local_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.package import JobFile

_FILE, _FILE_ROW = "filename", "file_row_number"
_GLOB_CHARACTERS: Final = str.maketrans({"[": "[[]", "*": "[*]", "?": "[?]"})
_POSITION_FORMAT: Final = "{:06d}/{}/{:020d}"


def staged_files(job: JobFile) -> StagedTable:
    """Return the rows in the files of a job; those of Spark, if their rows needed a projection."""
    parts = [(paths, _columns(paths[0])) for paths in _file_lists(job) if paths]
    names = list(dict.fromkeys(name for _, columns in parts for name in columns))
    queries = [_part_query(number, paths, columns, names) for number, (paths, columns) in enumerate(parts)]
    relation: exp.Query = queries[0] if queries else _no_rows()
    for query in queries[1:]:
        relation = exp.union(relation, query, distinct=False)
    return StagedTable(relation=relation, columns=tuple(name for name in names if name != POSITION))


def _file_lists(job: JobFile) -> Iterator[list[str]]:
    store = FileStorage(job.package_path)
    if not job.is_flat:
        written = find_loader_files(store, job.name.job_id())
        yield [] if written is None else [_path(path) for path in written.paths]
        return
    for part in job.parts:
        files = sorted(part.data.list_files(store))
        yield [_path(store.path(f"{part.data.path}/{name}")) for name in files]


def _path(address: str) -> str:
    return str(local_path(address) or address)


def _columns(path: str) -> list[str]:
    return list(pq.read_schema(path).names)


def _part_query(
    number: int, paths: Sequence[str], columns: Sequence[str], names: Sequence[str]
) -> exp.Select:
    """Return the rows of some files with all columns of the job; those that they lack are null."""
    has_position = POSITION in columns
    files = exp.array(*(exp.Literal.string(path.translate(_GLOB_CHARACTERS)) for path in paths))
    options = {"hive_partitioning": False, _FILE: not has_position, _FILE_ROW: not has_position}
    arguments = [
        exp.EQ(this=exp.to_identifier(name), expression=exp.convert(value)) for name, value in options.items()
    ]
    source = exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[files, *arguments]))
    values = [
        column(name) if name in columns else exp.alias_(exp.null(), name, quoted=True)
        for name in names
        if name != POSITION
    ]
    return exp.select(*values, exp.alias_(_position(number, columns), POSITION, quoted=True)).from_(source)


def _position(number: int, columns: Sequence[str]) -> exp.Expression:
    """Return the position of a row, by the file and the row in it unless the files have it."""
    if POSITION in columns:
        return column(POSITION)
    values = [
        exp.Literal.string(_POSITION_FORMAT),
        exp.Literal.number(number),
        column(_FILE),
        column(_FILE_ROW),
    ]
    return exp.Anonymous(this="format", expressions=values)


def _no_rows() -> exp.Select:
    return exp.select(exp.alias_(exp.Literal.string(""), POSITION, quoted=True)).where(exp.false())
