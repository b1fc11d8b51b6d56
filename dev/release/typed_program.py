"""A program of a user: its types are checked with the installed package by `make release-check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterator


@penstock.resource(name="orders", write_disposition="merge", primary_key="id")
def orders(last: int = 0) -> Iterator[dict[str, Any]]:
    """Yield two orders."""
    yield {"id": last + 1, "items": [{"sku": "tea"}]}
    yield {"id": last + 2, "items": []}


@penstock.source
def shop(last: int = 0) -> Any:
    """Return the resources of the shop."""
    return orders(last)


class Alerts(penstock.RunHooks):
    """Prints failures."""

    def on_failure(self, *, pipeline_name: str, step: str, error: BaseException) -> None:
        """Print the failed step."""
        print(pipeline_name, step, error)


def load(folder: str) -> dict[str, int]:
    """Load the shop and count its rows."""
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake")
    pipeline: penstock.Pipeline = penstock.pipeline(
        "shop", folder, destination=lake, progress="none", hooks=[Alerts()]
    )
    info = pipeline.run(shop(1))
    info.raise_on_failed_jobs()
    try:
        dataset: penstock.Dataset = pipeline.dataset()
        return {name: len(dataset[name].arrow()) for name in pipeline.default_schema.data_table_names()}
    except penstock.PenstockError as error:
        print(error.code, error.hint)
        return {}
