"""Job files: small documents with the folders of a table's rows and the projection that makes the table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from penstock.errors import PackageDamaged, UsageError
from penstock.interfaces import LoadMark
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package.control_file import read_control
from penstock.package.dlt_ids import nested_hashes
from penstock.package.folder import DataFolder
from penstock.package.layout import SEALED_FILE
from penstock.package.projection.explode import SelectStep, position_id, projection_steps
from penstock.package.projection.model import Projection
from penstock.package.sql import literal, quote_name
from penstock.package.storage import FileStorage
from penstock.package.strict_record import read_record, validate_fields
from penstock.spark.paths import spark_path
from penstock.spark.sqltext import check_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

_JOB_PATH_PARTS = 2
_TIME_ZONE_CONF = "spark.sql.session.timeZone"
_UTC_NAMES = frozenset(("UTC", "Etc/UTC", "GMT", "Z", "+00:00"))
_POSITION_SQL = "named_struct('part', {}, 'file', `_metadata`.`file_name`, 'row', `_metadata`.`row_index`)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameFileColumn:
    """A column of frame files, and the row field that it becomes."""

    column: str
    field: str
    sql_type: str
    """The type of the field in Spark SQL; every value of the column fits."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the job file."""
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> FrameFileColumn:
        """Read a document of `to_dict`."""
        return validate_fields(FrameFileColumn(**document))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPart:
    """The rows of a table in one folder, and their projection."""

    data: DataFolder
    columns: str
    """The columns to read, in Spark SQL, so that no Spark job has to infer them from the files."""
    projection: Projection
    landed: tuple[FrameFileColumn, ...] = ()
    """The columns of frame files, from which the nested dataset is built; empty for other files."""

    @property
    def has_timestamps(self) -> bool:
        """Whether reading it casts to timestamps, which depends on the time zone of the session."""
        return any("TIMESTAMP" in column.sql_type.upper() for column in self.landed)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the job file."""
        return {
            "data": self.data.to_dict(),
            "columns": self.columns,
            "projection": self.projection.to_dict(),
            "landed": [column.to_dict() for column in self.landed],
        }

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> JobPart:
        """Read a document of `to_dict`."""
        return validate_fields(
            JobPart(
                data=DataFolder.from_dict(document["data"]),
                columns=document["columns"],
                projection=Projection.from_dict(document["projection"]),
                landed=tuple(FrameFileColumn.from_dict(column) for column in document["landed"]),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFile:
    """The rows of one table in one package.

    `data` is a folder of files, relative to the package; moving the job never moves it.
    """

    name: ParsedLoadJobFileName
    load_id: str
    package_path: str
    data: DataFolder
    columns: str
    """The columns to read, in Spark SQL, so that no Spark job has to infer them from the files."""
    projection: Projection
    landed: tuple[FrameFileColumn, ...] = ()
    """The columns of frame files, from which the nested dataset is built; empty for other files."""
    more: tuple[JobPart, ...] = ()
    """Further folders: rows of another format, or of another frame."""
    part_numbers: tuple[int, ...] = ()
    """The numbers of the folders among those of the root table, which a nested table may not have all of."""
    data_format: str = "parquet"
    rows: int | None = None
    mark: LoadMark | None = None
    """The mark of a commit of these rows; None before the package is sealed."""

    @property
    def data_path(self) -> str:
        """The full address of the first data folder."""
        return f"{self.package_path}/{self.data.path}"

    @property
    def parts(self) -> tuple[JobPart, ...]:
        """All folders with rows of the table."""
        first = JobPart(data=self.data, columns=self.columns, projection=self.projection, landed=self.landed)
        return (first, *self.more)

    @property
    def numbered_parts(self) -> tuple[tuple[int, JobPart], ...]:
        """All folders with the number that the position of their rows begins with."""
        parts = self.parts
        return tuple(zip(self.part_numbers or range(len(parts)), parts, strict=True))

    @property
    def is_flat(self) -> bool:
        """Whether all files have the columns of the table already, so that they need no projection."""
        return all(not part.projection.levels and not part.landed for part in self.parts)

    def frame(self, spark: SparkSession, *, position: str | None = None) -> DataFrame:
        """Return the table as a lazy frame; columns that a folder lacks are null for its rows.

        The time zone of the session must be UTC, since timestamps without a zone are in UTC. Where a name
        contains `${`, the session must not substitute variables.

        `position` names an additional column with the position of the root row in the package. It is
        deterministic, it orders rows, and it distinguishes rows with the same id.
        """
        zone = spark.conf.get(_TIME_ZONE_CONF) if any(part.has_timestamps for part in self.parts) else "UTC"
        if zone not in _UTC_NAMES:
            problem = f"timestamps of {self.name.table_name} would be read in the time zone {zone}"
            raise UsageError(problem, hint=f"set {_TIME_ZONE_CONF} to UTC")
        frames = [self._frame(number, part, spark, position) for number, part in self.numbered_parts]
        return reduce(lambda union, frame: union.unionByName(frame, allowMissingColumns=True), frames)

    def _frame(self, part_number: int, part: JobPart, spark: SparkSession, position: str | None) -> DataFrame:
        address = spark_path(f"{self.package_path}/{part.data.path}")
        frame = spark.read.schema(part.columns).format(self.data_format).load(address)
        carried = [quote_name(position)] if position else []
        positions = [f"{_POSITION_SQL.format(part_number)} AS {quote_name(position)}"] if position else []
        if part.landed:
            columns = nested_row_columns(part.landed, load_id=self.load_id, folder=part.data.path)
            check_texts(columns, spark=spark)
            frame = frame.selectExpr(*columns, *positions)
        elif positions:
            frame = frame.selectExpr("*", *positions)
        steps = projection_steps(part.projection, load_id=self.load_id)
        check_texts(_sql_texts(steps), spark=spark)
        for step in steps:
            rows = frame.where(step.where) if step.where else frame
            frame = rows.selectExpr(*step.columns, *carried)
        unhashed = part.projection.unhashed_id_columns
        if unhashed:
            tables = [level.table for level in part.projection.levels]
            frame = frame.mapInArrow(nested_hashes(tables, unhashed), frame.schema)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the file, without its version."""
        return {
            "load_id": self.load_id,
            "table": self.name.table_name,
            "data": self.data.to_dict(),
            "columns": self.columns,
            "data_format": self.data_format,
            "rows": self.rows,
            "projection": self.projection.to_dict(),
            "landed": [column.to_dict() for column in self.landed],
            "more": [part.to_dict() for part in self.more],
            "part_numbers": list(self.part_numbers),
        }


def read_job(path: str, *, mark: LoadMark | None = None, **options: Any) -> JobFile:
    """Open a job file by its address, as passed to `start_file_load`. `options` are those of the storage.

    The rows are `read_job(path).frame(spark)`; a commit with `read_job(path).mark` is identifiable. The mark
    is read from the package unless it is given, such as the `load_mark` of a client.
    """
    package_path, *job = path.rsplit("/", 2)
    if len(job) != _JOB_PATH_PARTS:
        raise UsageError(f"{path!r} is not the address of a job file", hint="pass the result of start_job()")
    return read_job_file(FileStorage(package_path, **options), "/".join(job), mark=mark)


def read_job_file(storage: FileStorage, name: str, *, mark: LoadMark | None = None) -> JobFile:
    """Read the job file `name` of the package at `storage`, and the mark of its load if it is not known."""
    document = read_control(storage, name)
    if document is None:
        raise PackageDamaged(path=storage.path(name), reason="the job file does not exist")
    try:
        return _build_job(storage, name, document, mark)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise PackageDamaged(path=storage.path(name), reason=f"{error} is missing or wrong in it") from error


def _build_job(
    storage: FileStorage, name: str, document: Mapping[str, Any], mark: LoadMark | None
) -> JobFile:
    return validate_fields(
        JobFile(
            name=ParsedLoadJobFileName.parse(name),
            load_id=document["load_id"],
            package_path=storage.root,
            data=DataFolder.from_dict(document["data"]),
            columns=document["columns"],
            data_format=document["data_format"],
            rows=document["rows"],
            projection=Projection.from_dict(document["projection"]),
            landed=tuple(FrameFileColumn.from_dict(column) for column in document["landed"]),
            more=tuple(JobPart.from_dict(part) for part in document["more"]),
            # Files of earlier versions have no numbers.
            part_numbers=tuple(document.get("part_numbers", ())),
            mark=mark or read_mark(storage),
        )
    )


def nested_row_columns(columns: Sequence[FrameFileColumn], *, load_id: str, folder: str) -> tuple[str, str]:
    """Return SQL for `id` and `row` of the rows in frame files.

    The struct is built field by field, so that Spark reads only the needed columns.
    """
    fields = (
        f"{literal(column.field)}, CAST({quote_name(column.column)} AS {column.sql_type})"
        for column in columns
    )
    file = f"{literal(f'{folder}/')}, `_metadata`.`file_name`"
    row_id = position_id(load_id, file=file, position="`_metadata`.`row_index`")
    return f"{row_id} AS id", f"named_struct({', '.join(fields)}) AS row"


def _sql_texts(steps: Iterable[SelectStep]) -> Iterator[str]:
    for step in steps:
        yield from step.columns
        yield step.where or ""


def read_mark(storage: FileStorage) -> LoadMark | None:
    """Return the slot of the package at `storage`; None before it is sealed."""
    sealed = read_control(storage, SEALED_FILE)
    return None if sealed is None else read_record(LoadMark, sealed, path=storage.path(SEALED_FILE))
