"""Merged rows with a list that the sampled rows lack: nested rows follow their root rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.flow.factories import make_pipeline

import penstock
from penstock.normalize.rows import MAX_SAMPLE_ROWS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def rows(*late: dict[str, Any]) -> list[dict[str, Any]]:
    """Return rows without a list, more than a sample has, and late ones with a list."""
    return [*({"id": number} for number in range(MAX_SAMPLE_ROWS + 10)), *late]


def tags(pipeline: Any) -> list[str]:
    table = pipeline.dataset()["items__tags"].arrow()
    return sorted(table.column("value").to_pylist())


@pytest.mark.parametrize("strategy", ["delete-insert", "upsert", "scd2"])
def test_nested_rows_of_late_lists_follow_their_root_rows(
    spark: SparkSession, location: str, tmp_path: Path, strategy: str
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    merge: Any = {"disposition": "merge", "strategy": strategy}
    key: Any = {} if strategy == "scd2" else {"primary_key": "id"}

    pipeline.run(rows(), table_name="items", write_disposition=merge, **key)
    values = ((90_001, "lost"), (90_001, "won"), (90_002, "new"))
    late = [{"id": number, "tags": [tag]} for number, tag in values]
    pipeline.run(rows(*late), table_name="items", write_disposition=merge, **key)

    assert tags(pipeline) == (["lost", "new", "won"] if strategy == "scd2" else ["new", "won"])


@pytest.mark.parametrize("strategy", ["delete-insert", "upsert", "scd2"])
def test_nested_rows_of_a_later_frame_follow_their_root_rows(
    spark: SparkSession, location: str, tmp_path: Path, strategy: str
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    merge: Any = {"disposition": "merge", "strategy": strategy}
    key: Any = {} if strategy == "scd2" else {"primary_key": "id"}
    plain, old = pa.table({"id": [1, 2]}), pa.table({"id": [5], "tags": [["old"]]})
    late = pa.table({"id": [3, 3, 4], "tags": [["lost"], ["won"], ["new"]]})

    for frame in (old, late):
        pipeline.run(penstock.resource([plain, frame], name="items", write_disposition=merge, **key))

    assert tags(pipeline) == (["lost", "new", "old", "won"] if strategy == "scd2" else ["new", "old", "won"])
