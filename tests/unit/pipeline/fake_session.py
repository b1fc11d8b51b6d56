"""A fake Spark session for tests that read no rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def fake_session() -> Any:
    """Return a session that accepts settings, and creates others like itself."""
    settings = {"spark.master": "local[1]"}
    return SimpleNamespace(
        version="4.1.0",
        conf=SimpleNamespace(getAll=settings, get=settings.get, set=settings.__setitem__),
        newSession=fake_session,
    )
