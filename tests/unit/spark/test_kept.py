"""Sessions that wait for the next run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.spark.kept import KeptSessions, Key, OwnSession


class Context:
    """A Spark that runs."""


class Conf(dict[str, str]):
    """Settings, in the words of Spark."""

    @property
    def getAll(self) -> dict[str, str]:  # noqa: N802 - as Spark has it
        return dict(self)

    def set(self, name: str, value: str) -> None:
        self[name] = value

    def unset(self, name: str) -> None:
        del self[name]


def session(key: Key = frozenset(), **conf: str) -> OwnSession:
    spark: Any = SimpleNamespace(conf=Conf(conf))
    return OwnSession(spark, key, dict(conf), ())


def test_one_that_was_told_the_same_is_taken_once() -> None:
    kept, spark = KeptSessions(), Context()
    one, other = session(frozenset({("a", "1")})), session(frozenset({("a", "2")}))
    kept.keep(one, of=spark)
    kept.keep(other, of=spark)

    assert kept.take(other.key, of=spark) is other
    assert kept.take(other.key, of=spark) is None
    assert kept.take(one.key, of=spark) is one


def test_it_has_the_settings_that_it_had_at_first() -> None:
    kept, spark, one = KeptSessions(), Context(), session(kept="1", changed="2")
    one.spark.conf.set("changed", "3")
    one.spark.conf.set("new", "4")

    kept.keep(one, of=spark)

    assert one.spark.conf.getAll == {"kept": "1", "changed": "2"}


def test_only_so_many_wait_and_none_of_a_spark_that_is_gone() -> None:
    kept, spark = KeptSessions(most=2), Context()
    sessions = [session(frozenset({("number", str(number))})) for number in range(3)]
    for one in sessions:
        kept.keep(one, of=spark)

    assert kept.take(sessions[0].key, of=spark) is None
    assert kept.take(sessions[2].key, of=spark) is sessions[2]
    assert kept.take(sessions[1].key, of=Context()) is None
    assert kept.take(sessions[1].key, of=spark) is None
