"""A job file is small: it says where a table's rows are and how to see them as a table."""

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
    """A column of the files, and the field of a row that it becomes."""

    column: str
    field: str
    sql_type: str
    """The type of the field, as Spark SQL writes it; every value of the column fits."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the job file."""
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> FrameFileColumn:
        """Read what `to_dict` gave."""
        return validate_fields(FrameFileColumn(**document))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPart:
    """Rows of a table that stand in one folder, and how to see them as the table."""

    data: DataFolder
    columns: str
    """The columns that are read, as Spark SQL writes them, so that no job runs to find them in the files."""
    projection: Projection
    landed: tuple[FrameFileColumn, ...] = ()
    """How the columns become a nested dataset, where the files are those that a frame was landed in."""

    @property
    def has_timestamps(self) -> bool:
        """Whether moments are made of it while it is read, for which the zone of the session counts."""
        return any("TIMESTAMP" in one.sql_type.upper() for one in self.landed)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the job file."""
        return {
            "data": self.data.to_dict(),
            "columns": self.columns,
            "projection": self.projection.to_dict(),
            "landed": [one.to_dict() for one in self.landed],
        }

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> JobPart:
        """Read what `to_dict` gave."""
        return validate_fields(
            JobPart(
                data=DataFolder.from_dict(document["data"]),
                columns=document["columns"],
                projection=Projection.from_dict(document["projection"]),
                landed=tuple(FrameFileColumn.from_dict(one) for one in document["landed"]),
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
    """The columns that are read, as Spark SQL writes them, so that no job runs to find them in the files."""
    projection: Projection
    landed: tuple[FrameFileColumn, ...] = ()
    """How the columns become a nested dataset, where the files are those that a frame was landed in."""
    more: tuple[JobPart, ...] = ()
    """Further folders: rows that came in another form, or in another frame."""
    data_format: str = "parquet"
    rows: int | None = None
    mark: LoadMark | None = None
    """What a commit of these rows is marked with; None while the package is not sealed."""

    @property
    def data_path(self) -> str:
        """The full address of the data folder, the first where there are several."""
        return f"{self.package_path}/{self.data.path}"

    @property
    def parts(self) -> tuple[JobPart, ...]:
        """All folders with rows of the table."""
        first = JobPart(data=self.data, columns=self.columns, projection=self.projection, landed=self.landed)
        return (first, *self.more)

    def frame(self, spark: SparkSession, *, position: str | None = None) -> DataFrame:
        """The table as a lazy frame in the given session; columns that a folder lacks are null there.

        The session's time zone has to be UTC: moments without a zone are taken to be. Where a name has
        `${` in it, the session must not substitute variables.

        With `position` there is a column of that name more: where the root row stands that a row comes from.
        It orders rows as they stand in the package, it is the same each time, and it tells rows apart that
        have the same id.
        """
        zone = spark.conf.get(_TIME_ZONE_CONF) if any(part.has_timestamps for part in self.parts) else "UTC"
        if zone not in _UTC_NAMES:
            shown = f"moments of {self.name.table_name} would be taken to be in {zone}"
            raise UsageError(shown, hint=f"set {_TIME_ZONE_CONF} to UTC")
        frames = [self._frame(number, part, spark, position) for number, part in enumerate(self.parts)]
        return reduce(lambda all_, one: all_.unionByName(one, allowMissingColumns=True), frames)

    def _frame(self, part_number: int, part: JobPart, spark: SparkSession, position: str | None) -> DataFrame:
        address = spark_path(f"{self.package_path}/{part.data.path}")
        frame = spark.read.schema(part.columns).format(self.data_format).load(address)
        carried = [quote_name(position)] if position else []
        placed = [f"{_POSITION_SQL.format(part_number)} AS {quote_name(position)}"] if position else []
        if part.landed:
            columns = nested_row_columns(part.landed, load_id=self.load_id, folder=part.data.path)
            check_texts(columns, spark=spark)
            frame = frame.selectExpr(*columns, *placed)
        elif placed:
            frame = frame.selectExpr("*", *placed)
        steps = projection_steps(part.projection, load_id=self.load_id)
        check_texts(_sql_texts(steps), spark=spark)
        for step in steps:
            rows = frame.where(step.where) if step.where else frame
            frame = rows.selectExpr(*step.columns, *carried)
        unfinished = part.projection.unhashed_id_columns
        if unfinished:
            tables = [level.table for level in part.projection.levels]
            frame = frame.mapInArrow(nested_hashes(tables, unfinished), frame.schema)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """The content of the file, but for its version."""
        return {
            "load_id": self.load_id,
            "table": self.name.table_name,
            "data": self.data.to_dict(),
            "columns": self.columns,
            "data_format": self.data_format,
            "rows": self.rows,
            "projection": self.projection.to_dict(),
            "landed": [one.to_dict() for one in self.landed],
            "more": [part.to_dict() for part in self.more],
        }


def read_job(path: str, **options: Any) -> JobFile:
    """Open a job file by its address, wherever its package is. `options` are those of the storage.

    Give it what `start_file_load` got: the rows are `read_job(path).frame(spark)`, and a commit that carries
    `read_job(path).mark` can be told from every other.
    """
    package_path, *job = path.rsplit("/", 2)
    if len(job) != _JOB_PATH_PARTS:
        raise UsageError(f"{path!r} is no address of a job file", hint="give what start_job() gave")
    return read_job_file(FileStorage(package_path, **options), "/".join(job))


def read_job_file(storage: FileStorage, name: str) -> JobFile:
    """Read the job file `name` of the package that `storage` stands in."""
    document = read_control(storage, name)
    if document is None:
        raise PackageDamaged(path=storage.path(name), reason="there is no such job file")
    try:
        return _build_job(storage, name, document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise PackageDamaged(path=storage.path(name), reason=f"{error} is missing or wrong in it") from error


def _build_job(storage: FileStorage, name: str, document: Mapping[str, Any]) -> JobFile:
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
            landed=tuple(FrameFileColumn.from_dict(one) for one in document["landed"]),
            more=tuple(JobPart.from_dict(part) for part in document["more"]),
            mark=read_mark(storage),
        )
    )


def nested_row_columns(columns: Sequence[FrameFileColumn], *, load_id: str, folder: str) -> tuple[str, str]:
    """SQL for `id` and `row` of each row of the files of a folder; no row has a text.

    Field by field, so that a reader of one column reads no other.
    """
    fields = (f"{literal(one.field)}, CAST({quote_name(one.column)} AS {one.sql_type})" for one in columns)
    file = f"{literal(f'{folder}/')}, `_metadata`.`file_name`"
    row_id = position_id(load_id, file=file, position="`_metadata`.`row_index`")
    return f"{row_id} AS id", f"named_struct({', '.join(fields)}) AS row"


def _sql_texts(steps: Iterable[SelectStep]) -> Iterator[str]:
    for step in steps:
        yield from step.columns
        yield step.where or ""


def read_mark(storage: FileStorage) -> LoadMark | None:
    """The slot that the package which `storage` stands in has taken, or None while it has none."""
    sealed = read_control(storage, SEALED_FILE)
    return None if sealed is None else read_record(LoadMark, sealed, path=storage.path(SEALED_FILE))
