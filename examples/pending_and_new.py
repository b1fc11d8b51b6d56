"""A package is pending from an earlier run, and `run` is called with new data.

    python examples/pending_and_new.py

Promise: both are loaded, the pending package first. Pending data does not hide new data.
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

    info = pipeline.run([{"id": 3}], table_name="items")
    print(info)

    dataset = pipeline.dataset()
    ids: dict[str, list[int]] = {}
    for load_id in dataset.load_ids():
        rows = dataset.table("items", load_ids=[load_id]).select("id").fetchall()
        ids[load_id] = sorted(row[0] for row in rows)
    print(f"rows by load, oldest first: {ids}")
    if info.loads_ids != dataset.load_ids() or info.loads_ids[:1] != pending.loads_ids:
        return "the pending package was not loaded first"
    if list(ids.values()) != [[1, 2], [3]]:
        return "rows are missing, duplicated, or in the wrong load"
    return "a package is still pending" if pipeline.has_pending_data else None


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        sys.exit(main(home))
