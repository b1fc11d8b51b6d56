"""Sessions that wait for the next run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.spark.session_pool import ConfKey, PooledSession, SessionCache


class Conf(dict[str, str]):
    """Settings, in the words of Spark."""

    @property
    def getAll(self) -> dict[str, str]:  # noqa: N802 - as Spark has it
        return dict(self)

    def set(self, name: str, value: str) -> None:
        self[name] = value

    def unset(self, name: str) -> None:
        del self[name]


def session(key: ConfKey = frozenset(), **conf: str) -> PooledSession:
    spark: Any = SimpleNamespace(conf=Conf(conf))
    return PooledSession(spark, key, dict(conf), ())


def test_a_cached_session_with_equal_settings_is_reused_once() -> None:
    kept = SessionCache()
    one, other = session(frozenset({("a", "1")})), session(frozenset({("a", "2")}))
    kept.put(one, app_id="app")
    kept.put(other, app_id="app")

    assert kept.pop(other.key, app_id="app") is other
    assert kept.pop(other.key, app_id="app") is None
    assert kept.pop(one.key, app_id="app") is one


def test_it_has_the_settings_that_it_had_at_first() -> None:
    kept, one = SessionCache(), session(kept="1", changed="2")
    one.spark.conf.set("changed", "3")
    one.spark.conf.set("new", "4")

    kept.put(one, app_id="app")

    assert one.spark.conf.getAll == {"kept": "1", "changed": "2"}


def test_its_settings_are_not_shown() -> None:
    spark: Any = SimpleNamespace()
    found = PooledSession(spark, frozenset({("key", "hush")}), {"key": "hush"}, ())

    assert "hush" not in repr(found)


def test_only_so_many_wait_and_none_of_a_spark_that_is_gone() -> None:
    kept = SessionCache(max_sessions=2)
    sessions = [session(frozenset({("number", str(number))})) for number in range(3)]
    for one in sessions:
        kept.put(one, app_id="app")

    assert kept.pop(sessions[0].key, app_id="app") is None
    assert kept.pop(sessions[2].key, app_id="app") is sessions[2]
    assert kept.pop(sessions[1].key, app_id="another") is None
    assert kept.pop(sessions[1].key, app_id="app") is None
