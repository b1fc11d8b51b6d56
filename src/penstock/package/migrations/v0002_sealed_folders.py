"""Version 2: job files and manifests describe the folders that they read, and markers are JSON."""

from __future__ import annotations

from typing import Any

VERSION = 2


def upgrade(kind: str, document: dict[str, Any]) -> dict[str, Any]:
    """Folders of version 1 were named and not described; their counts stay unknown."""
    match kind:
        case "job":
            return {**document, "data": _folder(document["data"])}
        case "manifest":
            tables = [{**table, "rows": None, "data": None} for table in document["tables"]]
            return {**document, "tables": tables, "folders": []}
        case _:
            return document


def _folder(path: str) -> dict[str, Any]:
    return {"path": path, "files": None, "bytes": None, "digest": None}
