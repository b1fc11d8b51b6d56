"""Sessions for tests that work below the pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.flow.factories import CATALOG_CONF, new_session, quick_session

from penstock.spark.session import UserSession
from penstock.spark.session_pool import SessionPool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(session_of_mode: SparkSession) -> SparkSession:
    """The session of the mode, for few rows."""
    return quick_session(session_of_mode)


@pytest.fixture
def other(spark: SparkSession) -> SparkSession:
    """The session of another writer of the same tables."""
    return new_session(spark, CATALOG_CONF)


@pytest.fixture
def own(spark: SparkSession) -> Iterator[SparkSession]:
    """A session of the pool, as a load uses it."""
    user = UserSession(spark=spark, is_connect=False, master="local[2]", origin="given")
    pool = SessionPool(user, ("delta",))
    with pool.session() as session:
        session.conf.set("spark.sql.shuffle.partitions", "1")
        yield session
    pool.close()
