"""Loads numbered batches of three tables into Postgres, one after the other, until it is killed."""

from __future__ import annotations

import sys

import penstock


def main(url: str, dataset: str, folder: str, batches: int, *, drops_pending: bool = False) -> None:
    """Load the batches that the state of the pipeline does not have; an unfinished load is finished first."""
    pipeline = penstock.pipeline(
        dataset,
        destination=penstock.destinations.postgres(url),
        dataset_name=dataset,
        pipelines_dir=folder,
    )

    def next_batch() -> int | None:
        state = penstock.current.resource_state()
        if state.get("batch", 0) == batches:
            return None
        state["batch"] = state.get("batch", 0) + 1
        return int(state["batch"])

    @penstock.resource
    def orders() -> object:
        batch = next_batch()
        if batch is not None:
            yield [{"batch": batch, "number": n, "items": [{"batch": batch}] * 2} for n in range(100)]

    @penstock.resource
    def customers() -> object:
        batch = next_batch()
        if batch is not None:
            yield [{"batch": batch, "number": n} for n in range(50)]

    if drops_pending:
        pipeline.drop_pending_packages()
    pipeline.run()  # what is pending
    for _ in range(batches):
        pipeline.run([orders(), customers()])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), drops_pending="drop" in sys.argv[5:])
