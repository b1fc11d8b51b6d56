"""The running halves of the stages, imported when they are first needed.

`import penstock` must not import pyspark, pyarrow or sqlglot: it is done in every script, and on machines
that only declare sources. This is the one module of the house with imports inside functions.
"""

# ruff: noqa: PLC0415 - see above
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from penstock.config import Settings
    from penstock.dataset.dataset import Dataset
    from penstock.interfaces import Destination, DestinationClient, Flow
    from penstock.load.report import LoadInfo
    from penstock.pipeline.target import Target


def run(target: Target, flows: Sequence[Flow], *, spark: SparkSession | None) -> LoadInfo:
    """Everything that `Pipeline.run` does."""
    _require_spark()
    from penstock.pipeline.runner import Runner

    return Runner(target, spark=spark).run(flows)


def read_items(flow: Flow) -> Iterator[Any]:
    """The items of a source that a user iterates over."""
    from penstock.extract.reading import read_items as found

    return found(flow)


def open_dataset(
    client: DestinationClient,
    *,
    name: str,
    spark: SparkSession | None,
    settings: Settings,
    needs: tuple[str, ...],
) -> Dataset:
    """A reader over an opened destination."""
    _require_spark()
    from penstock.dataset.dataset import Dataset
    from penstock.spark.own import SessionPool
    from penstock.spark.session import check_session, find_session

    user = find_session(spark, settings, needs)
    check_session(user, needs)
    return Dataset(client, name=name, user=user, pool=SessionPool(user, needs))


def open_client(
    destination: Destination,
    *,
    dataset_name: str,
    pipeline_name: str,
    spark: SparkSession | None,
    settings: Settings,
) -> DestinationClient:
    """A destination opened at the place that its settings say."""
    found = destination.settings(
        settings, pipeline_name=pipeline_name, master=target_master(spark=spark, settings=settings)
    )
    return destination.spec.open(found, dataset_name=dataset_name)


def target_master(*, spark: SparkSession | None, settings: Settings) -> str:
    """Where Spark runs or will run; nothing is started to find out."""
    _require_spark()
    from penstock.spark.session import target_master as found

    return found(spark, settings)


def _require_spark() -> None:
    try:
        import pyspark.sql  # noqa: F401 - asked for, not used
    except ImportError as error:
        raise MissingExtra(extra="spark", needed_for="running a pipeline") from error
