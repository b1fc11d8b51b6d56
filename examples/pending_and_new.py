"""A package is pending from an earlier run, and `run` is called with new data.

    python examples/pending_and_new.py

Promise: the run loads the pending package and reports that it has left the new data, which the next run
loads. With `run.pending = "continue"` one run does both.
"""

import sys
import tempfile

import penstock


def main(folder: str) -> str | None:
    """Extract a package, then run; return the broken promise, if any."""
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake")
    pipeline = penstock.pipeline("waiting", f"{folder}/pipelines", destination=lake, dataset_name="demo")
    pending = pipeline.extract([{"id": 1}, {"id": 2}], table_name="items")
    print(pending)
    print(f"pending packages: {pipeline.has_pending_data}")

    first = pipeline.run([{"id": 3}], table_name="items")
    print(first)
    second = pipeline.run([{"id": 3}], table_name="items")
    print(second)

    dataset = pipeline.dataset()
    ids: dict[str, list[int]] = {}
    for load_id in dataset.load_ids():
        rows = dataset.table("items", load_ids=[load_id]).select("id").fetchall()
        ids[load_id] = sorted(row[0] for row in rows)
    print(f"rows by load, oldest first: {ids}")
    if [first.has_unextracted_data, second.has_unextracted_data] != [True, False]:
        return "the runs do not report which of them has left the data"
    if [*first.loads_ids, *second.loads_ids] != dataset.load_ids() or first.loads_ids != pending.loads_ids:
        return "the pending package was not loaded first"
    if list(ids.values()) != [[1, 2], [3]]:
        return "rows are missing, duplicated, or in the wrong load"
    return "a package is still pending" if pipeline.has_pending_data else None


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        sys.exit(main(home))
