"""Sessions that wait for the next run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.spark.kept import KeptSessions, Key, OwnSession


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
    kept = KeptSessions()
    one, other = session(frozenset({("a", "1")})), session(frozenset({("a", "2")}))
    kept.keep(one, of="app")
    kept.keep(other, of="app")

    assert kept.reuse(other.key, of="app") is other
    assert kept.reuse(other.key, of="app") is None
    assert kept.reuse(one.key, of="app") is one


def test_it_has_the_settings_that_it_had_at_first() -> None:
    kept, one = KeptSessions(), session(kept="1", changed="2")
    one.spark.conf.set("changed", "3")
    one.spark.conf.set("new", "4")

    kept.keep(one, of="app")

    assert one.spark.conf.getAll == {"kept": "1", "changed": "2"}


def test_its_settings_are_not_shown() -> None:
    spark: Any = SimpleNamespace()
    found = OwnSession(spark, frozenset({("key", "hush")}), {"key": "hush"}, ())

    assert "hush" not in repr(found)


def test_only_so_many_wait_and_none_of_a_spark_that_is_gone() -> None:
    kept = KeptSessions(most=2)
    sessions = [session(frozenset({("number", str(number))})) for number in range(3)]
    for one in sessions:
        kept.keep(one, of="app")

    assert kept.reuse(sessions[0].key, of="app") is None
    assert kept.reuse(sessions[2].key, of="app") is sessions[2]
    assert kept.reuse(sessions[1].key, of="another") is None
    assert kept.reuse(sessions[1].key, of="app") is None
