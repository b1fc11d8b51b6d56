"""A stand-in for a Spark session, where nobody asks it for rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def fake_session() -> Any:
    """A session that can be told things, and makes others like itself."""
    told = {"spark.master": "local[1]"}
    return SimpleNamespace(
        version="4.1.0",
        conf=SimpleNamespace(getAll=told, get=told.get, set=told.__setitem__),
        newSession=fake_session,
    )
