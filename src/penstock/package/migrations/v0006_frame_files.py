"""Version 6: jobs may read the files that frames were landed in; manifests name all folders of a table."""

from __future__ import annotations

from typing import Any

VERSION = 6


def upgrade(kind: str, document: dict[str, Any]) -> dict[str, Any]:
    """Until then every job read a nested dataset."""
    if kind != "job":
        return document
    return {**document, "landed": [], "more": [{**part, "landed": []} for part in document["more"]]}
