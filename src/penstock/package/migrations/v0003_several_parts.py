"""Version 3: the rows of a job may stand in several folders, and extracted files may be typed."""

from __future__ import annotations

from typing import Any

VERSION = 3


def upgrade(kind: str, document: dict[str, Any]) -> dict[str, Any]:
    """Until then every job had one folder."""
    return {**document, "more": []} if kind == "job" else document
