"""Scenarios end as with dlt: dispositions, second runs and failures, on Delta and on Iceberg."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.conftest import SEED
from tests.flow.iceberg_dataset import open_iceberg_dataset
from tests.oracle.scenario_outcomes import SETTINGS, comparable, expected, recorded
from tests.oracle.scenario_runner import DATASET, NAME, play
from tests.oracle.scenarios import few, scenarios

import penstock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.interfaces import Destination

FEW: Final = few(SEED)
OTHERS: Final = [("delta", name) for name in scenarios() if name not in FEW]
ICEBERG: Final = [("iceberg", name) for name in scenarios()]


class SparkLake:
    """One lake of Delta or Iceberg tables."""

    tool = penstock

    def __init__(self, lake: str, folder: Path, spark: SparkSession, other: SparkSession) -> None:
        """Open a lake; `other` is the session of a user who changes tables by hand."""
        self.folder, self._location = folder / "pipelines", str(folder / "lake")
        self._lake, self._spark, self._other = lake, spark, other
        make: Callable[..., Destination] = getattr(penstock.destinations, lake)
        self._destination = make(bucket_url=self._location)

    def pipeline(self, dataset: str, *, knows_destination: bool = True) -> penstock.Pipeline:
        return penstock.pipeline(
            NAME,
            pipelines_dir=self.folder,
            destination=self._destination if knows_destination else None,
            dataset_name=dataset,
            spark=self._spark,
        )

    def content(self, dataset: str) -> dict[str, Any]:
        with self.pipeline(dataset).dataset() as result:
            names = [name for name in result.tables if not name.startswith("_dlt")]
            tables = {name: [plain(row) for row in result[name].arrow().to_pylist()] for name in names}
            return {"loads": len(result.load_ids()), "tables": tables}

    def spoil(self, dataset: str, table: str) -> None:
        self._put(dataset, table, "STRUCT<a: INT>", [((7,), 7, "by", "hand")])

    def mend(self, dataset: str, table: str) -> None:
        self._put(dataset, table, "BIGINT", [])

    def _put(self, dataset: str, table: str, kind: str, rows: list[Any]) -> None:
        """Write a table with these rows, replacing an existing one."""
        assert dataset == DATASET
        columns = f"id {kind}, price BIGINT, _dlt_load_id STRING, _dlt_id STRING"
        if self._lake == "delta":
            created = self._other.createDataFrame(rows, columns)
            overwrite = created.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
            overwrite.save(f"{self._location}/{dataset}/{table}")
            return
        with open_iceberg_dataset(self._location, self._spark) as below:
            name = below.tables.sql_name(table)
            below.spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")
            below.spark.createDataFrame(rows, columns).writeTo(name).using("iceberg").create()


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as the recorded answers have it: timestamps as texts in UTC."""
    moments = {key: item for key, item in row.items() if isinstance(item, datetime)}
    aware = {key: moment if moment.tzinfo else moment.replace(tzinfo=UTC) for key, moment in moments.items()}
    return {**row, **{key: item.astimezone(UTC).isoformat() for key, item in aware.items()}}


def outcome(name: str, lake: SparkLake) -> dict[str, Any]:
    return comparable(play(lake, scenarios()[name]))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.at_length] * bool(at % 3)) for at, name in enumerate(FEW)]
)
def test_a_few_scenarios_end_as_with_dlt(
    name: str, spark: SparkSession, other: SparkSession, tmp_path: Path
) -> None:
    lake = SparkLake("delta", tmp_path, spark, other)

    assert outcome(name, lake) == expected(name, recorded("page"), "page")


@pytest.mark.at_length
@pytest.mark.parametrize(("lake", "name"), [*OTHERS, *ICEBERG])
def test_all_scenarios_end_as_with_dlt(
    lake: str, name: str, spark: SparkSession, other: SparkSession, tmp_path: Path
) -> None:
    place = SparkLake(lake, tmp_path, spark, other)

    assert outcome(name, place) == expected(name, recorded("page"), "page")


@pytest.mark.at_length
@pytest.mark.parametrize("name", scenarios())
def test_all_scenarios_end_as_with_dlt_if_runs_continue_and_failed_jobs_raise(
    name: str, spark: SparkSession, other: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in SETTINGS["continue"].items():
        monkeypatch.setenv(key, value)
    lake = SparkLake("delta", tmp_path, spark, other)

    assert outcome(name, lake) == expected(name, recorded("continue"), "continue")
