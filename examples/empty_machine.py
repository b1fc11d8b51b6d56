"""A machine is lost with its disk, and a new one continues.

    python examples/empty_machine.py

Promise: the destination has everything that is needed: state, schema, and a package that the lost machine
had extracted but not loaded.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import penstock


@penstock.resource
def events(upto: int, since: Any = penstock.sources.incremental("id", initial_value=0)) -> Iterator[Any]:
    """Events with growing numbers; the cursor remembers the last one that was loaded."""
    for number in range(since.last_value + 1, upto + 1):
        yield {"id": number, "tags": ["a", "b"]}


def first_machine(folder: str) -> None:
    """Load 100 events, extract 100 more, and end there."""
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake")
    pipeline = penstock.pipeline("moving", f"{folder}/first", destination=lake, dataset_name="demo")
    pipeline.run(events(100))
    pipeline.extract(events(200))


def main(folder: str) -> str | None:
    """Lose the first machine and continue with a second one; return the broken promise, if any."""
    subprocess.run([sys.executable, __file__, folder], check=True)
    shutil.rmtree(f"{folder}/first")
    print("the first machine is lost, with its working folder")

    pipeline = penstock.attach(
        "moving",
        f"{folder}/second",
        destination=penstock.destinations.delta(bucket_url=f"{folder}/lake"),
        dataset_name="demo",
    )
    print(f"the second machine has pending packages: {pipeline.has_pending_data}")
    pending = pipeline.run()
    info = pipeline.run(events(300))
    print(f"{pending}\n{info}")

    dataset = pipeline.dataset()
    ids = sorted(row[0] for row in dataset["events"].select("id").fetchall())
    cursor = pipeline.state["sources"]["moving"]["resources"]["events"]["incremental"]["id"]["last_value"]
    print(f"{len(ids)} events of {len(dataset.load_ids())} loads; the cursor is at {cursor}")
    if ids != list(range(1, 301)) or dataset["events__tags"].count() != 2 * len(ids):
        return "rows are duplicated or lost"
    if [package.sequence for package in (*pending.packages, *info.packages)] != [2, 3]:
        return "the pending package was not loaded, or not first"
    return None if cursor == len(ids) else "the cursor is wrong"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        first_machine(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as home:
            sys.exit(main(home))
