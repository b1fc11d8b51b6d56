"""Settings of a session that hold for a while."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession


@contextmanager
def conf_set(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Settings that hold in the block alone."""
    try:
        for key, value in conf.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key in conf:
            spark.conf.unset(key)
