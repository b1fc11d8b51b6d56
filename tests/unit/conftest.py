"""What holds for all tests without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fsspec.implementations.memory import MemoryFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _nothing_stays_in_memory() -> Iterator[None]:
    """Empty the store of `memory://`: a lookup in it takes as long as all that earlier tests left there."""
    yield
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
