"""Sessions of our own: what they take over from the user's, and what they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.spark.own import SessionPool
from penstock.spark.session import UserSession

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

import pytest


@pytest.fixture
def user(spark: SparkSession) -> UserSession:
    return UserSession(spark=spark.newSession(), is_connect=False, master="local[2]", origin="given")


@pytest.fixture
def pool(user: UserSession) -> Iterator[SessionPool]:
    pool = SessionPool(user, ("delta",))
    yield pool
    pool.close()


def test_times_are_utc_and_keys_differ_by_case(pool: SessionPool) -> None:
    with pool.session() as own:
        assert own.conf.get("spark.sql.session.timeZone") == "UTC"
        assert own.conf.get("spark.sql.caseSensitive") == "true"
        catalog = own.conf.get("spark.sql.catalog.spark_catalog")
    assert catalog == "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def test_what_the_user_set_at_run_time_is_taken_over(user: UserSession, pool: SessionPool) -> None:
    user.spark.conf.set("spark.sql.catalog.theirs", "some.Catalog")
    user.spark.conf.set("fs.s3a.endpoint", "here")

    with pool.session() as own:
        assert own.conf.get("spark.sql.catalog.theirs") == "some.Catalog"
        assert own.conf.get("fs.s3a.endpoint") == "here"


def test_the_users_own_transaction_marks_are_left_behind(user: UserSession, pool: SessionPool) -> None:
    user.spark.conf.set("spark.databricks.delta.write.txnVersion", "7")

    with pool.session() as own:
        assert own.conf.get("spark.databricks.delta.write.txnVersion", None) is None


def test_two_workers_never_share_a_session_and_a_free_one_is_used_again(pool: SessionPool) -> None:
    with pool.session() as first, pool.session() as second:
        assert first is not second

    with pool.session() as third:
        assert third in (first, second)
