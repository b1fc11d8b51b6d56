"""The `filesystem` source over a real object store: pages, windows, and separate keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.service.bucket import keys

import penstock
from penstock.package import FileStorage
from penstock.sources.filesystem import files, filesystem
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.location import FolderLocation

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_files_of_a_bucket_are_read_once_with_keys_that_the_session_does_not_have(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    store = FileStorage(location, credentials=keys())
    for number in range(12):
        store.put(f"raw/2026/11/{number + 1:02d}/part {number}+.csv", f"id,name\n{number},a\n".encode())
    store.put("raw/2026/11/12/[bad]*.jsonl", b'{"id": 1}\nno json\n')

    def run() -> penstock.Pipeline:
        pipeline = penstock.pipeline(
            "shop",
            pipelines_dir=tmp_path / "pipelines",
            destination=penstock.destinations.filesystem(str(tmp_path / "lake")),
            dataset_name="demo",
            spark=spark,
        )
        raw = f"{location}/raw"
        pipeline.run(
            [
                files(raw, keys(), file_glob="**/*.csv", name="orders", window=3, metadata=True),
                files(raw, keys(), file_glob="**/*.jsonl", name="lines"),
            ]
        )
        return pipeline

    pipeline = run()
    store.put("raw/2026/11/10/late.csv", b"id,name\n50,late\n")
    store.put("raw/2026/11/01/too late.csv", b"id,name\n51,too late\n")
    run()

    rows = pipeline.dataset()["orders"].spark().select("id", "_file", "_row").collect()
    assert sorted(int(row["id"]) for row in rows) == [*range(12), 50]
    assert {row["_file"] for row in rows} >= {f"{location}/raw/2026/11/01/part 0+.csv"}
    counts = pipeline.dataset().row_counts()
    assert (counts["lines"], counts["_dlt_quarantine"]) == (1, 1)


@pytest.mark.at_length
def test_a_listing_of_several_pages_is_complete(location: str) -> None:
    store = FileStorage(location, credentials=keys())
    for number in range(1_100):
        store.put(f"many/{number % 3}/{number}.csv", b"id\n1\n")
    place = FolderLocation.of(f"{location}/many", keys())

    deep = {result.path for result in list_files(place, Glob("**/*.csv"))}
    flat = {result.path for result in list_files(place, Glob("*/*.csv"))}

    assert deep == flat == {f"{number % 3}/{number}.csv" for number in range(1_100)}
    assert [
        item["size_in_bytes"] for item in filesystem(f"{location}/many/0", keys(), file_glob="9.csv")
    ] == [5]
