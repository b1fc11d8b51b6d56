"""Sessions of the pool: settings they copy from the user's session, and settings they do not."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import functions as F

from penstock.config import read_settings
from penstock.config.secret import SecretText
from penstock.errors import SessionChangesText
from penstock.spark.presets import SQL_TEXT_CONF
from penstock.spark.session import UserSession, find_session, missing_conf
from penstock.spark.session_pool import SessionPool
from penstock.spark.sqltext import check_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture
def user(spark: SparkSession) -> UserSession:
    return UserSession(spark=spark.newSession(), is_connect=False, master="local[2]", origin="given")


@pytest.fixture
def pool(user: UserSession) -> Iterator[SessionPool]:
    pool = SessionPool(user, ("delta",))
    yield pool
    pool.close()


def test_a_thread_without_an_active_session_uses_that_of_the_process_unchanged(
    spark: SparkSession,
) -> None:
    """Run in a thread without an active session: a builder would change the settings of an active one."""
    before = spark.conf.getAll

    with ThreadPoolExecutor(1) as threads:
        user = threads.submit(find_session, None, read_settings(), ("delta",)).result()

    assert (user.spark is spark, user.origin) == (True, "active")
    assert spark.conf.getAll == before


def test_times_are_utc_and_keys_differ_by_case(pool: SessionPool) -> None:
    with pool.session() as own:
        assert own.conf.get("spark.sql.session.timeZone") == "UTC"
        assert own.conf.get("spark.sql.caseSensitive") == "true"
        catalog = own.conf.get("spark.sql.catalog.spark_catalog")
    assert catalog == "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def test_settings_made_at_run_time_are_copied(user: UserSession, pool: SessionPool) -> None:
    user.spark.conf.set("spark.sql.catalog.theirs", "some.Catalog")
    user.spark.conf.set("fs.s3a.endpoint", "here")

    with pool.session() as own:
        assert own.conf.get("spark.sql.catalog.theirs") == "some.Catalog"
        assert own.conf.get("fs.s3a.endpoint") == "here"


def test_transaction_settings_of_the_user_are_not_copied(user: UserSession, pool: SessionPool) -> None:
    user.spark.conf.set("spark.databricks.delta.write.txnVersion", "7")

    with pool.session() as own:
        assert own.conf.get("spark.databricks.delta.write.txnVersion", None) is None


def test_two_workers_never_share_a_session_and_a_free_one_is_used_again(pool: SessionPool) -> None:
    with pool.session() as first, pool.session() as second:
        assert first is not second

    with pool.session() as third:
        assert third in (first, second)


def test_the_next_run_uses_the_same_sessions_in_their_first_state(user: UserSession) -> None:
    def run(output: dict[str, str]) -> SparkSession:
        pool = SessionPool(user, ("delta",), output)
        with pool.session() as own:
            assert own.conf.get("spark.sql.autoBroadcastJoinThreshold") == "3"
            assert own.conf.get("some.mark", None) is None
            own.conf.set("spark.sql.autoBroadcastJoinThreshold", "7")
            own.conf.set("some.mark", "left behind")
        pool.close()
        return own

    assert user.spark.conf.get("spark.app.id"), "by which an earlier Spark is told from this one"
    user.spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "3")
    first = run({"some.key": "a"})
    assert run({"some.key": "b"}) is not first
    assert run({"some.key": "a"}) is first
    user.spark.conf.set("some.setting", "of the user")
    assert run({"some.key": "a"}) is not first


def test_an_interrupt_cancels_jobs_of_the_run_and_none_of_the_user(
    user: UserSession, pool: SessionPool
) -> None:
    def slow(spark: SparkSession) -> int:
        # The column in the argument makes Spark sleep for each row, not once.
        wait = F.expr("java_method('java.lang.Thread', 'sleep', 20L + id - id)")
        return len(spark.range(0, 300, 1, 2).select(wait).collect())

    with ThreadPoolExecutor(2) as threads, pool.session() as own:
        actual, expected = threads.submit(slow, own), threads.submit(slow, user.spark)
        while not actual.done():
            time.sleep(0.2)
            pool.interrupt()

        with pytest.raises(Py4JJavaError, match="CANCEL"):
            actual.result(timeout=300)
        assert expected.result(timeout=300) == 300


def test_keys_are_set_in_the_sessions_of_the_run_and_not_in_that_of_the_user(user: UserSession) -> None:
    key = "fs.s3a.bucket.lake.secret.key"
    pool = SessionPool(user, ("delta", "s3"), {key: SecretText("hush-hush-hush")})

    with pool.session() as own:
        assert own.conf.get(key) == "hush-hush-hush"
        assert missing_conf({key: "hush-hush-hush"}, own) == {}
        assert own.conf.get("mapreduce.fileoutputcommitter.algorithm.version") == "1"
    assert user.spark.conf.get(key, None) is None
    assert missing_conf({key: "hush-hush-hush"}, user.spark) == {key: "hush-hush-hush"}
    pool.close()


def test_a_key_that_a_session_refuses_is_not_in_the_notes(user: UserSession) -> None:
    pool = SessionPool(user, (), {"spark.driver.memory": SecretText("hush-hush-hush")})

    with pool.session():
        assert [note for note in pool.notes if "spark.driver.memory" in note]
    assert "hush" not in " ".join(pool.notes)
    pool.close()


def test_sql_text_is_read_as_it_is_written_whatever_the_user_has_set(user: UserSession) -> None:
    expected = dict.fromkeys(SQL_TEXT_CONF, "true")
    for name, value in expected.items():
        user.spark.conf.set(name, value)
    pool = SessionPool(user, ("delta",))

    with pool.session() as own:
        row = (
            own.sql(r"SELECT '${env:PATH}\\n' AS `${env:PATH}`, 1 AS aa")
            .selectExpr("`${env:PATH}`")
            .collect()
        )

    assert [item.asDict() for item in row] == [{"${env:PATH}": "${env:PATH}\\n"}]
    assert {name: user.spark.conf.get(name) for name in SQL_TEXT_CONF} == expected
    pool.close()


class SharedSession:
    """The session of a client that cannot create another one, as with Spark Connect 4.0."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.conf, self.version, self.sql = spark.conf, spark.version, spark.sql


def test_a_session_that_cannot_be_cloned_is_refused_if_it_substitutes_variables(
    spark: SparkSession,
) -> None:
    shared: Any = SharedSession(spark.newSession())
    user = UserSession(spark=shared, is_connect=True, master="", origin="given")
    setting = "spark.sql.variable.substitute"

    with pytest.raises(SessionChangesText, match=setting), SessionPool(user, ()).session():
        pass
    assert shared.conf.get(setting) == "true", "it is the user's"

    shared.conf.set(setting, "false")
    with SessionPool(user, ()).session() as own:
        assert own is shared


def test_a_table_with_a_variable_in_a_name_is_not_read_by_a_session_that_replaces_it(
    user: UserSession,
) -> None:
    texts = ["1 AS `${env:PATH}`"]
    with pytest.raises(SessionChangesText, match="substitute is true"):
        check_texts(texts, spark=user.spark)
    check_texts(["1 AS `a`"], spark=user.spark)

    user.spark.conf.set("spark.sql.variable.substitute", "false")
    check_texts(texts, spark=user.spark)
