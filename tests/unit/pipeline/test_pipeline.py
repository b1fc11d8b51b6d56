from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import penstock
from penstock.errors import (
    InvalidDatasetName,
    InvalidPipelineName,
    LoadClientUnsupportedWriteDisposition,
    MissingTableName,
    UnknownDestination,
    UsageError,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_the_dataset_has_the_name_of_the_pipeline_by_default() -> None:
    assert penstock.pipeline("shop").dataset_name == "shop"
    assert penstock.pipeline("shop", dataset_name="lake").dataset_name == "lake"


def test_creating_a_pipeline_writes_nothing(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path, destination="delta")

    assert (pipeline.pipelines_dir, pipeline.working_dir) == (str(tmp_path), f"{tmp_path}/shop")
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_a_destination_is_refused() -> None:
    with pytest.raises(UsageError, match="pipeline 'shop' has no destination"):
        penstock.pipeline("shop").run([{"a": 1}], table_name="t")


def test_an_invalid_name_is_refused_when_the_pipeline_is_created() -> None:
    with pytest.raises(InvalidPipelineName):
        penstock.pipeline("../shop")


@pytest.mark.parametrize("name", ["../elsewhere", "a/b", ".", "a\0b", "nul", "a" * 129])
def test_a_dataset_name_that_is_a_path_is_refused(name: str) -> None:
    pipeline = penstock.pipeline("shop", destination="delta", dataset_name="lake")

    with pytest.raises(InvalidDatasetName):
        penstock.pipeline("shop", destination="delta", dataset_name=name)
    with pytest.raises(InvalidDatasetName):
        pipeline.run([1], table_name="t", dataset_name=name)
    with pytest.raises(InvalidDatasetName):
        penstock.dataset("delta", name)

    assert pipeline.dataset_name == "lake"


def test_an_unknown_destination_is_refused_when_the_pipeline_is_created() -> None:
    with pytest.raises(UnknownDestination, match="detla"):
        penstock.pipeline("shop", destination="detla")


def test_a_merge_strategy_that_the_destination_lacks_is_refused_before_spark_starts() -> None:
    disposition = {"disposition": "merge", "strategy": "cdc"}
    with pytest.raises(LoadClientUnsupportedWriteDisposition, match="delta does not support 'cdc'"):
        penstock.pipeline("shop", destination="delta").run([1], table_name="t", write_disposition=disposition)


def test_data_without_a_name_is_refused_before_spark_starts() -> None:
    with pytest.raises(MissingTableName):
        penstock.pipeline("shop", destination="delta").run([{"a": 1}])


def test_the_repr_of_a_pipeline_shows_its_target() -> None:
    assert repr(penstock.pipeline("shop")) == "<penstock.Pipeline 'shop' to no destination, dataset 'shop'>"
