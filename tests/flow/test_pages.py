"""Pages of the documentation with blocks that need Spark run as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.doc_blocks import doc_blocks, doc_pages
from tests.doc_runner import PageRun, page_folder

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PAGES = [
    page for page in doc_pages() if any(block.treatment == "run with Spark" for block in doc_blocks(page))
]


@pytest.mark.parametrize("page", PAGES)
def test_all_blocks_of_a_page_run(page: str, tmp_path: Path, spark: SparkSession) -> None:
    spark.createDataFrame([], "nothing INT")  # active in this thread: pipelines of the page use it

    with page_folder(tmp_path) as folder:
        PageRun(page, folder).run(with_spark=True)
