"""Plain files: their names, their readers, replaces and deletions."""

from __future__ import annotations

import csv
import gzip
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from tests.step_failures import step_raises

import penstock
from penstock.destinations.filesystem import run as reading
from penstock.destinations.filesystem import table_log
from penstock.errors import DestinationTerminalException, UsageError
from penstock.interfaces import Destination
from penstock.testing.cases import Crash, CrashingDestination

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES: list[dict[str, Any]] = [
    {
        "id": 1,
        "text": ' a,"b"\r\n ünï\\ ',
        "empty": "",
        "price": Decimal("12.340000000"),
        "at": datetime(1850, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        "day": date(2024, 2, 29),
        "raw": b"\x00\xff",
        "yes": True,
        "real": -0.25,
    },
    {"id": 2, "text": None, "empty": None},
]


class Files:
    """A dataset of plain files, and its folder."""

    def __init__(self, location: str, tmp_path: Path, spark: SparkSession) -> None:
        self.location, self._tmp_path, self._spark = location, tmp_path, spark

    def pipeline(self, name: str = "files", **settings: Any) -> penstock.Pipeline:
        return penstock.pipeline(
            name,
            pipelines_dir=self._tmp_path / "pipelines",
            destination=penstock.destinations.filesystem(bucket_url=self.location, **settings),
            dataset_name="demo",
            spark=self._spark,
        )

    def run(self, rows: list[dict[str, Any]], **options: Any) -> penstock.Pipeline:
        created = self.pipeline()
        created.run(rows, table_name="items", **options)
        return created

    def names(self, table: str = "items") -> list[str]:
        folder = Path(self.location) / "demo"
        return sorted(str(path.relative_to(folder)) for path in (folder / table).rglob("*") if path.is_file())

    def path(self, name: str) -> Path:
        return Path(self.location) / "demo" / name


@pytest.fixture
def files(location: str, tmp_path: Path, spark: SparkSession) -> Files:
    return Files(location, tmp_path, spark)


def ids(pipeline: penstock.Pipeline, table: str = "items", **options: Any) -> list[int]:
    return sorted(row[0] for row in pipeline.dataset(**options)[table].select("id").fetchall())


def test_files_have_the_names_of_the_layout_and_any_reader_reads_them(files: Files) -> None:
    pipeline = files.run([{"id": 1, "tags": ["x"]}, {"id": 2}])
    (load_id,) = pipeline.dataset().load_ids()

    (name,) = files.names()
    assert name.startswith(f"items/{load_id}.")
    assert name.endswith(".parquet")
    result = pq.read_table(files.path(name))
    assert sorted(result["id"].to_pylist()) == [1, 2]
    assert set(result["_dlt_load_id"].to_pylist()) == {load_id}
    assert len(files.names("items__tags")) == 1
    assert not list((files.path("_dlt_files/items") / "lists").glob("*")), "nothing is left under way"


@pytest.mark.at_length
def test_a_layout_may_have_dates_and_custom_placeholders(files: Files) -> None:
    layout = "{table_name}/{schema_name}/year={YYYY}/{team}-{upper}.{load_id}.{file_id}"
    settings: dict[str, Any] = {
        "layout": layout,
        "extra_placeholders": {"team": "eu", "upper": lambda _schema, table, *_: table.upper()},
    }
    for number in (1, 2):
        files.pipeline(**settings).run([{"id": number}], table_name="items")

    year = datetime.now(UTC).year
    assert all(name.startswith(f"items/files/year={year}/eu-ITEMS.1") for name in files.names())
    assert ids(files.pipeline(**settings)) == [1, 2]
    assert files.pipeline(**settings).dataset()["items"].columns == ["id", "_dlt_load_id", "_dlt_id"]
    # Another layout, without a folder for each table: files of earlier loads are unchanged.
    flat = files.pipeline(layout="{table_name}.{load_id}.{ext}")
    flat.run([{"id": 3}, {"id": 4}], table_name="items")
    assert len(list(files.path("").glob("items.*.parquet"))) == 1
    assert ids(flat) == [1, 2, 3, 4]


@pytest.mark.parametrize("options", ["parquet", "jsonl", "csv"])
def test_values_round_trip_through_every_format(files: Files, options: str) -> None:
    pipeline = files.run(VALUES, loader_file_format=options)
    # A new column that older files lack.
    pipeline.run([{"id": 3, "late": "x"}], table_name="items")

    (first, *_) = files.names()
    assert first.endswith("parquet" if options == "parquet" else f"{options}.gz")
    rows = pipeline.dataset()["items"].order_by("id").arrow().to_pylist()
    assert [row["late"] for row in rows] == [None, None, "x"]
    assert {name: rows[0][name] for name in VALUES[0]} == VALUES[0]
    assert (rows[1]["text"], rows[1]["empty"], rows[1]["price"]) == (None, None, None)


def test_json_lines_and_csv_files_are_readable_by_other_tools(files: Files) -> None:
    texts = files.pipeline(disable_compression=True)
    texts.run([VALUES[0]], table_name="lines", loader_file_format="jsonl")
    texts.run(penstock.resource([VALUES[0]], name="commas", file_format="csv"))

    (lines,) = files.names("lines")
    (commas,) = files.names("commas")
    assert (lines.rsplit(".", 1)[1], commas.rsplit(".", 1)[1]) == ("jsonl", "csv")
    row = json.loads(files.path(lines).read_text(encoding="utf-8"))
    assert row["price"] == "12.340000000"
    assert row["at"] == "1850-01-02T03:04:05.678901Z"
    assert (row["raw"], row["day"], row["text"]) == ("AP8=", "2024-02-29", VALUES[0]["text"])
    (output,) = csv.DictReader(io.StringIO(files.path(commas).read_bytes().decode(), newline=""))
    assert (output["text"], output["price"], output["raw"]) == (VALUES[0]["text"], "12.340000000", "AP8=")


@pytest.mark.at_length
def test_a_table_may_change_its_format(files: Files) -> None:
    for number, options in enumerate(["parquet", "csv", "jsonl"]):
        files.pipeline(loader_file_format=options).run([{"id": number}], table_name="items")

    assert ids(files.pipeline()) == [0, 1, 2]
    (packed,) = (name for name in files.names() if name.endswith("csv.gz"))
    assert gzip.decompress(files.path(packed).read_bytes()).startswith(b"id,")


@pytest.mark.at_length
def test_many_files_are_read_by_their_folder(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_FILES_BY_PATH", 1)
    monkeypatch.setattr(table_log, "_CHECKPOINT_INTERVAL", 2)
    for number in range(3):
        pipeline = files.run([{"id": number}])
    held = pipeline.dataset()
    assert held["items"].count() == 3, "the log knows the whole table by its second commit"

    files.run([{"id": 99}])
    files.path("items/1700000000.5.cafe.parquet").write_bytes(files.path(files.names()[0]).read_bytes())
    assert len(files.names()) == 5

    assert held["items"].count() == 3, "a dataset shows one moment"
    assert ids(pipeline) == [0, 1, 2, 99], "a file that no complete load has brought does not count"


def test_a_replace_shows_new_files_at_once_and_deletes_the_old_ones(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOAD__WORKERS", "1")
    pipeline = files.run([{"id": 1, "tags": ["x"]}], write_disposition="replace")
    old = files.names()
    mortal = CrashingDestination(pipeline.destination.reference, at=2, after=False)  # type: ignore[union-attr]
    dying = Destination("filesystem", mortal, {"bucket_url": files.location})
    rows = penstock.resource([{"id": 2}], name="items", write_disposition="replace")
    with pytest.raises(Crash):
        files.pipeline().run(rows, destination=dying)

    # The root and its nested tables are one job, then the load is complete: only the deletion is pending.
    assert set(old) < set(files.names())
    assert ids(files.pipeline()) == [2]
    assert files.pipeline().dataset()["items__tags"].count() == 0
    files.pipeline().run()
    assert set(old).isdisjoint(files.names())
    assert ids(files.pipeline()) == [2]
    assert files.names("items__tags") == []


def test_an_aborted_load_leaves_no_file(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOAD__WORKERS", "1")
    both = [
        penstock.resource([{"id": 1}], name="items", write_disposition="replace"),
        penstock.resource([{"id": 1}], name="events"),
    ]
    files.pipeline().run(both)
    before = [*files.names(), *files.names("events")]
    mortal = CrashingDestination(files.pipeline().destination.reference, at=2, after=True)  # type: ignore[union-attr]
    with pytest.raises(Crash):
        files.pipeline().run(
            both, destination=Destination("filesystem", mortal, {"bucket_url": files.location})
        )
    assert len(files.names()) == len(files.names("events")) == 2

    files.pipeline().drop_pending_packages()

    assert [*files.names(), *files.names("events")] == before
    assert ids(files.pipeline()) == ids(files.pipeline(), "events") == [1]
    files.pipeline().run(both)
    assert (ids(files.pipeline()), ids(files.pipeline(), "events")) == ([1], [1, 1])


def test_options_that_plain_files_cannot_support_are_refused_before_a_row_is_written(files: Files) -> None:
    with step_raises(UsageError, match="plain files", step="extract") as refused:
        files.run([{"id": 1}], write_disposition="merge", primary_key="id")
    assert "table_format" in refused.value.hint
    assert files.names() == []

    pipeline = files.run([{"id": 1}])
    with (
        pytest.raises(UsageError, match="no table that a statement can change"),
        pipeline.sql_client() as sql,
    ):
        sql.execute_sql("DELETE FROM items")


@pytest.mark.at_length
def test_reading_a_table_with_a_deleted_file_is_an_error(files: Files) -> None:
    pipeline = files.run([{"id": 1}])
    files.run([{"id": 2}])
    files.path(files.names()[0]).unlink()

    with pytest.raises(DestinationTerminalException, match="files of table items do not exist"):
        ids(pipeline)


@pytest.mark.at_length
def test_tables_can_be_truncated_and_dropped(files: Files) -> None:
    pipeline = files.run([{"id": 1, "tags": ["x"]}])
    client: Any = pipeline._target().client()

    client.initialize_storage(truncate_tables=["items"])
    client.drop_tables("items__tags", "none")

    assert ids(pipeline) == []
    assert files.names() == files.names("items__tags") == []
    assert client.table_names() == ("items",)
    client.drop_storage()
    assert not client.is_storage_initialized()
