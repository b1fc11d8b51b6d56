"""The destination in the documentation, installed from the page and used."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.doc_blocks import doc_blocks

import penstock
from penstock.testing import destination_suite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "destinations.md"


def files() -> dict[str, str]:
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```', text, re.MULTILINE | re.DOTALL)
    return {name: block for name, block in blocks if name.startswith(("penstock_folders/", "pyproject"))}


def test_the_page_shows_four_files_and_an_entry_point() -> None:
    names = [name.rpartition("/")[2] for name in files()]

    assert sorted(names) == ["__init__.py", "adapter.py", "pyproject.toml", "settings.py", "types.py"]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the destination, and return the folder of its tables."""
    for name, text in files().items():
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_text(text)
    entry_points = tomllib.loads(files()["pyproject.toml"])["project"]["entry-points"][
        "penstock.destinations"
    ]
    info = tmp_path / "site" / "penstock_folders-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: penstock-folders\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in entry_points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[penstock.destinations]", *lines, ""]))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    importlib.invalidate_caches()
    monkeypatch.setenv("DESTINATION__FOLDERS__PATH", str(tmp_path / "lake"))
    return tmp_path / "lake"


def test_the_destination_of_the_page_loads_nested_rows(
    lake: Path, spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = penstock.pipeline(
        "quick",
        pipelines_dir=tmp_path / "pipelines",
        destination="folders",
        dataset_name="demo",
        spark=spark,
    )

    pipeline.run([{"id": 1, "tags": ["x", "y"]}], table_name="items")
    info_again = pipeline.run([{"id": 2, "late": True}], table_name="items")

    items = spark.read.option("mergeSchema", "true").parquet(*map(str, (lake / "demo/items").iterdir()))
    assert sorted((row["id"], row["late"]) for row in items.select("id", "late").collect()) == [
        (1, None),
        (2, True),
    ]
    assert spark.read.parquet(f"{lake}/demo/items__tags/*").count() == 2
    assert (lake / "demo" / f"_{info_again.loads_ids[0]}.complete").exists()


@pytest.mark.at_length
def test_the_test_of_the_page_runs_a_case(lake: Path, spark: SparkSession, tmp_path: Path) -> None:
    def read_table(dataset: str, table: str) -> list[dict[str, Any]]:
        files = [str(path) for path in (lake / dataset / table).glob("*")]
        if not files:
            return []
        frame = spark.read.option("mergeSchema", "true").parquet(*files)
        return [row.asDict(recursive=True) for row in frame.collect()]

    (block,) = (block for block in doc_blocks("docs/destinations.md") if "def test_folders" in block.text)
    names: dict[str, Any] = {"read_table": read_table}

    exec(block.text, names)

    (case,) = (case for case in destination_suite() if case.name == "append-adds-nested-rows")
    names["test_folders"](case, spark, tmp_path)
