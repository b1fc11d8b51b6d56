"""A job file is small: it says where a table's rows are and how to see them as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import PackageDamaged, UnsupportedVersion
from penstock.interfaces.jobs import ParsedLoadJobFileName
from penstock.package.projection import Projection
from penstock.package.store import Store
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFile:
    """The rows of one table in one package.

    `data` is a folder of Parquet files, relative to the package; moving the job never moves it.
    """

    name: ParsedLoadJobFileName
    load_id: str
    package_path: str
    data: str
    columns: str
    """The columns of the data files as Spark SQL writes them, so that no job runs to find them."""
    projection: Projection
    data_format: str = "parquet"
    rows: int | None = None

    @property
    def data_path(self) -> str:
        """The full address of the data folder."""
        return f"{self.package_path}/{self.data}"

    def frame(self, spark: SparkSession) -> DataFrame:
        """The table as a lazy frame in the given session."""
        frame = spark.read.schema(self.columns).format(self.data_format).load(spark_path(self.data_path))
        for select in self.projection.selects(load_id=self.load_id):
            frame = frame.selectExpr(*select)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """The content of the file."""
        return {
            "format_version": FORMAT_VERSION,
            "load_id": self.load_id,
            "table": self.name.table_name,
            "data": self.data,
            "columns": self.columns,
            "data_format": self.data_format,
            "rows": self.rows,
            "projection": self.projection.to_dict(),
        }


def read_job(path: str) -> JobFile:
    """Open a job file by its path, wherever its package is."""
    package_path, _, folder_and_name = path.rpartition("/packages/")
    load_id, _, inside = folder_and_name.partition("/")
    return parse_job(Store(f"{package_path}/packages/{load_id}"), inside)


def parse_job(store: Store, name: str) -> JobFile:
    """Read the job file `name` of the package that `store` stands in."""
    document = store.read_json(name)
    if document is None:
        raise PackageDamaged(path=store.path(name), reason="there is no such job file")
    try:
        return _job(store, name, document)
    except (KeyError, TypeError) as error:
        raise PackageDamaged(path=store.path(name), reason=f"{error} is missing or wrong in it") from error


def _job(store: Store, name: str, document: Mapping[str, Any]) -> JobFile:
    if document["format_version"] > FORMAT_VERSION:
        has = str(document["format_version"])
        raise UnsupportedVersion(what=store.path(name), has=has, supports=str(FORMAT_VERSION))
    return JobFile(
        name=ParsedLoadJobFileName.parse(name),
        load_id=document["load_id"],
        package_path=store.root,
        data=document["data"],
        columns=document["columns"],
        data_format=document["data_format"],
        rows=document["rows"],
        projection=Projection.from_dict(document["projection"]),
    )
