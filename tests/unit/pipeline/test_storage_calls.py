"""The number of calls of a small load to its storage: of the first run, and of a second one."""

from __future__ import annotations

from collections import Counter
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.round_trips import CALLS, load

from penstock.package import FileStorage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FIRST_RUN, SECOND_RUN = 152, 148


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The number of calls by their method."""
    counter: Counter[str] = Counter()

    def counted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*arguments: Any, **options: Any) -> Any:
            counter[name] += 1
            return method(*arguments, **options)

        return call

    for name in CALLS:
        monkeypatch.setattr(FileStorage, name, counted(name, getattr(FileStorage, name)))
    return counter


@pytest.mark.usefixtures("no_spark")
def test_a_load_of_six_small_tables_makes_few_calls_to_its_storage(
    tmp_path: Path, calls: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN__LEASE_BEAT", "600")
    monkeypatch.setenv("RUN__LEASE_ALIVE", "1200")

    for most in (FIRST_RUN, SECOND_RUN):
        calls.clear()
        load(str(tmp_path / "lake"), tmp_path, 0, None)

        assert calls.total() <= most, calls
