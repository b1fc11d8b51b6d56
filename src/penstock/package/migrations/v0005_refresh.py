"""Version 5: manifests say which tables begin anew, and extracted packages what was asked for."""

from __future__ import annotations

from typing import Any

VERSION = 5


def upgrade(kind: str, document: dict[str, Any]) -> dict[str, Any]:
    """Until then no table began anew."""
    return {**document, "dropped": {}, "truncated": []} if kind == "manifest" else document
