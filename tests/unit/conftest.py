"""What holds for all tests without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from penstock.errors import SparkNotAvailable
from penstock.spark import session as session_module

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _nothing_stays_in_memory() -> Iterator[None]:
    """Empty the store of `memory://`: a lookup in it takes as long as all that earlier tests left there."""
    yield
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse to build a session, and hide one that another test has left."""

    def refuse(*_: Any) -> None:
        raise SparkNotAvailable(reason="this test has none", hint="load small tables")

    monkeypatch.setattr(session_module, "_build", refuse)
    monkeypatch.setattr(session_module, "existing_session", lambda _: None)
