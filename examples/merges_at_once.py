"""Several merge into one table at the same time: two processes, then two threads.

    python examples/merges_at_once.py

Promise: the table is the same as after sequential merges. Two processes that run one pipeline take turns:
the second is rejected while the first runs, and retries. Two pipelines of one Spark run at the same time:
Delta rejects the second commit, and penstock retries it.
"""

import logging
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import penstock
from penstock.errors import PipelineLocked


def pipeline_in(folder: str, name: str, spark: Any = None) -> penstock.Pipeline:
    """Return a pipeline for the shared dataset."""
    return penstock.pipeline(
        name,
        f"{folder}/pipelines",
        destination=penstock.destinations.delta(bucket_url=f"{folder}/lake"),
        dataset_name="demo",
        progress="none",
        spark=spark,
    )


def merge(pipeline: penstock.Pipeline, first: int, *writers: str) -> None:
    """Merge a thousand accounts with numbers from `first` on, once for each writer."""
    for writer in writers:
        accounts = [{"id": number, "writer": writer} for number in range(first, first + 1_000)]
        pipeline.run(accounts, table_name="accounts", primary_key="id", write_disposition="merge")


def merge_in_turn(folder: str, process: str) -> None:
    """Merge as one of two processes, which share 400 accounts; retry while the other one runs."""
    while True:
        try:
            merge(pipeline_in(folder, "turns"), 600 * int(process), f"process {process}")
        except PipelineLocked as locked:
            print(f"process {process} is rejected: {locked.message}", flush=True)
            time.sleep(2)
        else:
            print(f"process {process} has merged its accounts", flush=True)
            return


def main(folder: str) -> str | None:
    """Run all merges; return the broken promise, if any."""
    processes = [subprocess.Popen([sys.executable, __file__, folder, number]) for number in "01"]
    if sum(abs(process.wait()) for process in processes):
        return "a process has failed"
    spark = pipeline_in(folder, "turns").dataset()["accounts"].spark().sparkSession
    first, second = (pipeline_in(folder, name, spark) for name in ("first", "second"))
    merges = ("merge 1", "merge 2", "merge 3")
    with ThreadPoolExecutor() as threads:
        runs = [
            threads.submit(merge, first, 10_000, *merges),
            threads.submit(merge, second, 20_000, *merges),
        ]
    for run in runs:
        run.result()

    dataset = first.dataset()
    writer_by_id: dict[Any, Any] = dict(dataset["accounts"].select("id", "writer").fetchall())
    writers = Counter(writer_by_id.values())
    print(f"{len(dataset.load_ids())} loads, {len(writer_by_id)} accounts by writer: {dict(writers)}")
    if dataset["accounts"].count() != len(writer_by_id):
        return "accounts are duplicated"
    # The process that merged last has a thousand accounts, and the other one the remaining 600.
    expected = {"process 0": 600, "process 1": 600, writer_by_id.get(600): 1_000, "merge 3": 2_000}
    return None if writers == expected else "accounts are lost, or have the wrong writer"


if __name__ == "__main__":
    logging.basicConfig(format="%(message)s")
    logging.getLogger("penstock.delta").setLevel(logging.INFO)
    if len(sys.argv) > 1:
        merge_in_turn(*sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as home:
            sys.exit(main(home))
