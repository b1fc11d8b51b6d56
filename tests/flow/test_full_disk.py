"""A disk that fills up while Spark writes: the error names it, and the next run continues."""

from __future__ import annotations

import random
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.flow.factories import make_pipeline

from penstock.errors import PipelineStepFailed, StorageFull

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.at_length
def test_normalize_on_a_full_disk_names_it_and_continues_once_space_is_free(
    spark: SparkSession, small_disk: Path, tmp_path: Path
) -> None:
    source = random.Random(7)
    rows = [{"id": number, "text": source.randbytes(50_000).hex()} for number in range(50)]
    pipeline = make_pipeline(str(small_disk), tmp_path, spark)

    with pytest.raises(PipelineStepFailed) as raised:
        pipeline.run(rows, table_name="items")

    assert isinstance(raised.value.exception, StorageFull)
    assert str(small_disk) in raised.value.exception.path
    assert raised.value.step == "normalize"
    (waiting,) = pipeline.list_extracted_load_packages()
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert pipeline.run().loads_ids == [waiting]
    assert pipeline.dataset().row_counts() == {"items": 50}
