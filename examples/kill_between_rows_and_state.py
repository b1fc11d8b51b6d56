"""A process is killed after the commit of its rows and before the commit of its state.

    python examples/kill_between_rows_and_state.py

Promise: the next run continues. No row is duplicated or lost, and the cursor is correct.
"""

import os
import signal
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


class Killing(penstock.progress.Collector):
    """Kills the process when all tables of a load are committed, and nothing else of the load."""

    done = 0

    def update(self, name: str, inc: int = 1, total: int | None = None, *_: Any, **__: Any) -> None:
        """Count the jobs of the load, one for each of its tables."""
        self.done += inc if name == "Jobs" else 0
        if name == "Jobs" and self.done == total:
            os.kill(os.getpid(), signal.SIGKILL)


def pipeline_in(folder: str, **more: Any) -> penstock.Pipeline:
    """Return the same pipeline in every process."""
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake")
    return penstock.pipeline("killed", f"{folder}/pipelines", destination=lake, dataset_name="demo", **more)


def die(folder: str) -> None:
    """Load 1,000 events, then die in the middle of loading 1,000 more."""
    pipeline_in(folder).run(events(1_000))
    pipeline_in(folder, progress=Killing()).run(events(2_000))


def main(folder: str) -> str | None:
    """Kill another process, run again, and count; return the broken promise, if any."""
    killed = subprocess.run([sys.executable, __file__, folder], check=False)
    if killed.returncode != -signal.SIGKILL:
        return f"the first process was not killed, but ended with {killed.returncode}"
    pipeline = pipeline_in(folder)
    written = pipeline.dataset(consistent=False).row_counts()
    visible = pipeline.dataset().row_counts()
    print(f"killed: Delta has {written['events']} events, and readers see {visible['events']}")

    print(pipeline.run(events(3_000)))

    dataset = pipeline.dataset()
    ids = sorted(row[0] for row in dataset["events"].select("id").fetchall())
    cursor = pipeline.state["sources"]["killed"]["resources"]["events"]["incremental"]["id"]["last_value"]
    print(f"{len(ids)} events, {len(set(ids))} of them distinct; the cursor is at {cursor}")
    if (written["events"], visible["events"]) != (2_000, 1_000):
        return "the process was not killed between the two commits"
    if ids != list(range(1, 3_001)) or dataset["events__tags"].count() != 2 * len(ids):
        return "rows are duplicated or lost"
    return None if cursor == len(ids) else "the cursor is wrong"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        die(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as home:
            sys.exit(main(home))
