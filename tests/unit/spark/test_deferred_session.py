"""Sessions that are opened at their first use, and what is known of them before."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from penstock.config import Settings
from penstock.spark import session as session_module
from penstock.spark.deferred_session import SessionOutlook
from penstock.spark.session import expected_outlook, is_connect, session_outlook
from penstock.spark.sessions_on_demand import SessionsOnDemand

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OUTLOOK = SessionOutlook(is_connect=True, conf={"a": "1"})


class CountedPool:
    """A pool that counts the sessions that are borrowed now, and those that ever were."""

    def __init__(self) -> None:
        self.borrowed = self.total = 0
        self.notes = ["refused"]
        self.is_closed = False

    @contextmanager
    def session(self) -> Iterator[Any]:
        self.borrowed += 1
        self.total += 1
        yield SimpleNamespace(version="4.1")
        self.borrowed -= 1

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def pool() -> CountedPool:
    return CountedPool()


@pytest.fixture
def sessions(pool: CountedPool) -> SessionsOnDemand:
    opened: Any = (SimpleNamespace(spark=None), pool)
    return SessionsOnDemand(lambda: opened, lambda: OUTLOOK)


def test_an_unused_session_is_not_opened(sessions: SessionsOnDemand, pool: CountedPool) -> None:
    with sessions.deferred_session() as spark:
        assert is_connect(spark)
        assert session_outlook(spark) is OUTLOOK
    sessions.interrupt()
    sessions.close()
    assert (sessions.is_open, sessions.notes, pool.total, pool.is_closed) == (False, [], 0, False)


def test_a_used_session_is_borrowed_once_until_the_end_of_the_block(
    sessions: SessionsOnDemand, pool: CountedPool
) -> None:
    with sessions.deferred_session() as spark:
        assert [spark.version, spark.version] == ["4.1", "4.1"]
        assert (pool.borrowed, pool.total) == (1, 1)
    sessions.close()
    assert (pool.borrowed, sessions.notes, pool.is_closed) == (0, ["refused"], True)


def test_the_outlook_has_the_settings_that_spark_will_start_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("# comment\n\nspark.a   1\nspark.b=2\nspark.c: x y\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setattr(session_module, "existing_session", lambda _: None)
    settings = Settings(document={"spark": {"conf": {"spark.b": 3}}})

    outlook = expected_outlook(None, settings, {"spark.d": "4"})

    assert outlook == SessionOutlook(
        is_connect=False, conf={"spark.a": "1", "spark.b": "3", "spark.c": "x y", "spark.d": "4"}
    )
    remote = Settings(document={"spark": {"remote": "sc://localhost"}})
    assert expected_outlook(None, remote, {}).is_connect
