"""A merge that touches one partition of many.

    python examples/one_partition_of_many.py [--days 30] [--rows 100000]

Promise: files of other partitions are not read. To prove it, they are moved away while the merge runs:
reading any of them would fail.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import penstock


@penstock.resource(
    primary_key=("day", "id"),
    write_disposition="merge",
    columns={"day": {"data_type": "text", "partition": True}},
)
def readings(days: Iterable[int], ids: Iterable[int], value: float) -> Iterator[Any]:
    """Readings of some days; the day is part of the key, and the partition column."""
    for day in days:
        for number in ids:
            yield {"day": f"d{day:03}", "id": number, "value": value}


def size_text(partitions: Iterable[Path]) -> str:
    """Return the number and the size of the files in some partitions."""
    sizes = [file.stat().st_size for folder in partitions for file in folder.glob("*.parquet")]
    return f"{len(sizes):,} files, {sum(sizes):,} bytes"


def main(folder: str, days: int, rows: int) -> str | None:
    """Correct a hundredth of the last day; return the broken promise, if any."""
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake")
    pipeline = penstock.pipeline("partitions", f"{folder}/pipelines", destination=lake, dataset_name="demo")
    pipeline.run(readings(range(days), range(rows), 1.0))
    table = Path(folder) / "lake" / "demo" / "readings"
    *others, last = sorted(table.glob("day=*"))
    print(f"all {days} days: {size_text([*others, last])}")
    print(f"the last day: {size_text([last])}")

    hidden = Path(folder) / "hidden"
    hidden.mkdir()
    for partition in others:
        partition.rename(hidden / partition.name)
    corrected = max(rows // 100, 1)
    print(pipeline.run(readings([days - 1], range(corrected), 2.0)))
    for partition in others:
        (hidden / partition.name).rename(partition)

    dataset = pipeline.dataset()
    history = dataset["readings"].spark().sparkSession.sql(f"DESCRIBE HISTORY delta.`{table}` LIMIT 1")
    metrics = history.collect()[0]["operationMetrics"]
    print(f"the merge only read files of the last day, and replaced {metrics.get('numTargetFilesRemoved')}")
    counts = dataset("SELECT count(*), count_if(value = 2.0) FROM readings").fetchone()
    return None if counts == (days * rows, corrected) else f"rows are duplicated or lost: {counts}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--rows", type=int, default=100_000, help="of each day")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        sys.exit(main(home, options.days, options.rows))
