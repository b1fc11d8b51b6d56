"""Several merge into one table at the same time: two processes, then two threads.

    python examples/merges_at_once.py

Promise: the table holds exactly what it would hold if they had come one after the other. Two processes
that run one pipeline take turns: the second is refused while the first works, and tries again. Two
pipelines of one Spark need no turns: Delta refuses the commit that comes second, and penstock makes it
again.
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
    """A pipeline into the one dataset."""
    return penstock.pipeline(
        name,
        f"{folder}/pipelines",
        destination=penstock.destinations.delta(bucket_url=f"{folder}/lake"),
        dataset_name="demo",
        progress="none",
        spark=spark,
    )


def merge(pipeline: penstock.Pipeline, first: int, *writers: str) -> None:
    """Merge a thousand accounts with numbers from `first` on, once for each of the writers."""
    for writer in writers:
        accounts = [{"id": number, "writer": writer} for number in range(first, first + 1_000)]
        pipeline.run(accounts, table_name="accounts", primary_key="id", write_disposition="merge")


def merge_in_turn(folder: str, who: str) -> None:
    """One of two processes: 400 of its accounts are those of the other one too."""
    while True:
        try:
            merge(pipeline_in(folder, "turns"), 600 * int(who), f"process {who}")
        except PipelineLocked as locked:
            print(f"process {who} is refused: {locked.message}", flush=True)
            time.sleep(2)
        else:
            print(f"process {who} has merged its accounts", flush=True)
            return


def main(folder: str) -> str | None:
    """Let all of them merge; gives what is wrong, if anything is."""
    both = [subprocess.Popen([sys.executable, __file__, folder, who]) for who in "01"]
    if sum(abs(one.wait()) for one in both):
        return "a process has failed"
    spark = pipeline_in(folder, "turns").dataset()["accounts"].spark().sparkSession
    left, right = (pipeline_in(folder, name, spark) for name in ("left", "right"))
    thrice = ("merge 1", "merge 2", "merge 3")
    with ThreadPoolExecutor() as threads:
        runs = [
            threads.submit(merge, left, 10_000, *thrice),
            threads.submit(merge, right, 20_000, *thrice),
        ]
    for run in runs:
        run.result()

    dataset = left.dataset()
    found: dict[Any, Any] = dict(dataset["accounts"].select("id", "writer").fetchall())
    writers = Counter(found.values())
    print(f"{len(dataset.load_ids())} loads, {len(found)} accounts, and whose they are: {dict(writers)}")
    if dataset["accounts"].count() != len(found):
        return "accounts are doubled"
    # Of the two processes the second has its whole thousand, and the first what is left.
    expected = {"process 0": 600, "process 1": 600, found.get(600): 1_000, "merge 3": 2_000}
    return None if writers == expected else "accounts are lost, or are those of the wrong merge"


if __name__ == "__main__":
    logging.basicConfig(format="%(message)s")
    logging.getLogger("penstock.delta").setLevel(logging.INFO)
    if len(sys.argv) > 1:
        merge_in_turn(*sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as home:
            sys.exit(main(home))
